#include "service/edge/service.h"

#include <set>
#include <utility>

#include "service/edge/config.h"
#include "service/edge/origin.h"

namespace service::edge {

Service::Service(const SharedParts& parts, const config::SnapshotPtr& snapshot)
    : snapshot_(snapshot),
      token_guard_(health_, tls_),
      pulls_(snapshot, parts.sessions, parts.registry, parts.gate, health_, tls_, parts.identity, parts.offers),
      pushes_(snapshot, parts.sessions, parts.registry, pulls_, health_, tls_),
      gate_(parts.gate) {}

Service::~Service() { stop(); }

base::Result<void> Service::start() {
    started_ = true;
    keep_origins();
    gate_.add(token_guard_);  // before the guard that begins pulls
    pulls_.start();
    pushes_.start();
    return {};
}

// The services of publishers have been stopped before.
void Service::stop() {
    if (!std::exchange(started_, false)) return;
    gate_.remove(token_guard_);
    pulls_.stop();
    pushes_.stop();
}

void Service::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    pulls_.reload(next);
    pushes_.reload(next);
    keep_origins();
}

void Service::keep_origins() {
    std::set<std::string> origins;
    for (const config::Vhost& vhost : snapshot_->vhosts)
        for (const std::string& text : vhost.get<VhostConfig>().origin) origins.insert(shown_origin(text));
    health_.keep(origins);
}

}  // namespace service::edge
