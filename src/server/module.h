#pragma once
// What a service hands in to be started, asked and stopped with the others. Services know nothing of server/: any class
// with these members becomes a Module by module_of():
//
//   base::Result<void> start();                      // listens; the error names directive and address
//   void stop_accepting();                           // no new clients; those there go on
//   bool idle() const;                               // no client is left
//   void stop();                                     // ends every client; may yield
//   void reload(const config::SnapshotPtr& next);    // optional: later clients, and what is live, go by `next`

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "config/snapshot.h"

namespace server {

struct Module {
    std::string name;
    std::function<base::Result<void>()> start;
    std::function<void()> stop_accepting;
    std::function<bool()> idle;
    std::function<void()> stop;
    std::function<void(const config::SnapshotPtr&)> reload;
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
    if constexpr (requires(const config::SnapshotPtr& next) { service->reload(next); }) {
        module.reload = [service](const config::SnapshotPtr& next) { service->reload(next); };
    } else {
        module.reload = [](const config::SnapshotPtr&) {};
    }
    return module;
}

}  // namespace server
