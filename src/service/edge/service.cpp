#include "service/edge/service.h"

#include <set>

#include "service/edge/config.h"

namespace service::edge {

Service::Service(const SharedParts& parts, const config::SnapshotPtr& snapshot)
    : snapshot_(snapshot),
      pulls_(snapshot, parts.sessions, parts.registry, parts.gate, origins_, tls_, parts.identity) {}

Service::~Service() { stop(); }

base::Result<void> Service::start() {
    pulls_.start();
    return {};
}

void Service::stop() { pulls_.stop(); }

void Service::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    pulls_.reload(next);
    std::set<std::string> origins;
    for (const config::Vhost& vhost : next->vhosts)
        origins.insert(vhost.get<VhostConfig>().origin.begin(), vhost.get<VhostConfig>().origin.end());
    origins_.keep(origins);
}

}  // namespace service::edge
