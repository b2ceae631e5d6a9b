#pragma once
// What a service hands in to be started, asked and stopped with the others. Services know nothing of server/: any class
// with these members becomes a Module by module_of():
//
//   base::Result<void> start();                      // listens; the error names directive and address
//   void stop_accepting();                           // no new clients; those there go on
//   bool idle() const;                               // no client is left
//   void stop();                                     // ends every client; may yield
//   void reload(const config::SnapshotPtr& next);    // optional: later clients, and what is live, go by `next`
//
// A reload has two phases, so that it is done by all modules or by none. A service whose reload can fail has instead of
// reload():
//
//   base::Result<std::move_only_function<void()>> prepare(const config::SnapshotPtr& next);
//
// It makes all that may fail (reads a certificate, binds an address), changes nothing that anybody sees, and returns
// what puts `next` in force: that cannot fail and does not yield. Destroyed without being called it undoes nothing,
// because nothing was done. prepare() may yield, and be called with the snapshot in force: files that the configuration
// names may have changed. The error names the directive.

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "config/snapshot.h"

namespace server {

using Commit = std::move_only_function<void()>;

// For those who have no clients: nobody to refuse, nobody to wait for, and no end, unless they have one of their own.
struct WithoutClients {
    void stop_accepting() {}
    bool idle() const { return true; }
    void stop() {}
};

struct Module {
    std::string name;
    std::function<base::Result<void>()> start;
    std::function<void()> stop_accepting;
    std::function<bool()> idle;
    std::function<void()> stop;
    std::function<base::Result<Commit>(const config::SnapshotPtr&)> prepare;
};

// The module owns the service.
template <class Service>
Module module_of(std::string name, std::shared_ptr<Service> service) {
    Module module;
    module.name = std::move(name);
    module.start = [service] { return service->start(); };
    module.stop_accepting = [service] { service->stop_accepting(); };
    module.idle = [service] { return service->idle(); };
    module.stop = [service] { service->stop(); };
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

}  // namespace server
