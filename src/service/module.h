#pragma once
// The interface by which a service is started, polled and stopped with the others. Services do not depend on server/:
// any class with these members becomes a Module by module_of():
//
//   void connect();                                  // optional: see Module
//   base::Result<void> start();                      // listens; the error names directive and address
//   void stop_accepting();                           // no new clients; existing ones continue
//   bool idle() const;                               // no clients are left
//   void stop();                                     // ends every client; may yield
//   void reload(const config::SnapshotPtr& next);    // optional: new clients, and live streams, use `next`
//   void give_over(bool on);                         // optional: see Module
//
// A reload has two phases, so that it is done by all modules or by none. A service whose reload can fail has, instead
// of reload():
//
//   base::Result<std::move_only_function<void()>> prepare(const config::SnapshotPtr& next);
//
// It does everything that may fail (reads a certificate, binds an address), makes no visible change, and returns a
// function that puts `next` in force, which cannot fail and does not yield. If that function is destroyed without being
// called, nothing has to be undone. prepare() may yield, and may be called with the snapshot in force, because files
// named by the configuration may have changed. The error names the directive. Where it opens something (a port, a
// file), the service also has
//
//   base::Result<void> check(const config::SnapshotPtr& next);
//
// which refuses what prepare() would, as far as that can be known, and opens nothing that outlives the call. May yield.

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "config/snapshot.h"

namespace service {

using Commit = std::move_only_function<void()>;

// For modules without clients: nothing to refuse or wait for, and no stop unless they define one.
struct WithoutClients {
    void stop_accepting() {}
    bool idle() const { return true; }
    void stop() {}
};

struct Module {
    std::string name;
    // Called for every module, in order, before the first one is started: for what needs the offers of all services
    // (shared_parts.h). Empty: nothing to do. Does not yield.
    std::function<void()> connect{};
    std::function<base::Result<void>()> start;
    std::function<void()> stop_accepting;
    std::function<bool()> idle;
    std::function<void()> stop;
    std::function<base::Result<Commit>(const config::SnapshotPtr&)> prepare;
    // Empty: prepare() opens nothing, and says the same.
    std::function<base::Result<void>(const config::SnapshotPtr&)> check{};
    // An upgrade: new clients come to another process, and what one process alone can do (fetch a camera, keep files)
    // is left to that one, from now on until it is called with false. Where this process is the new one, true comes
    // before its start. May yield. Empty: nothing to do.
    std::function<void(bool)> give_over{};
};

// The module owns the service.
template <class Service>
Module module_of(std::string name, std::shared_ptr<Service> service) {
    Module module;
    module.name = std::move(name);
    if constexpr (requires { service->connect(); }) module.connect = [service] { service->connect(); };
    module.start = [service] { return service->start(); };
    module.stop_accepting = [service] { service->stop_accepting(); };
    module.idle = [service] { return service->idle(); };
    module.stop = [service] { service->stop(); };
    if constexpr (requires { service->give_over(true); })
        module.give_over = [service](bool on) { service->give_over(on); };
    if constexpr (requires(const config::SnapshotPtr& next) { service->check(next); })
        module.check = [service](const config::SnapshotPtr& next) { return service->check(next); };
    module.prepare = [service](const config::SnapshotPtr& next) -> base::Result<Commit> {
        if constexpr (requires { service->prepare(next); }) {
            return service->prepare(next);
        } else if constexpr (requires { service->reload(next); }) {
            return [service, next] { service->reload(next); };
        } else {
            return [] {};
        }
    };
    return module;
}

}  // namespace service
