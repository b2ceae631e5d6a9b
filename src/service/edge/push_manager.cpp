#include "service/edge/push_manager.h"

#include <utility>

#include "protocol/rtmp/messages.h"
#include "runtime/loop/limited_log.h"
#include "service/relay/path.h"

namespace service::edge {

using runtime::Deadline;

namespace {

constexpr int64_t kStopMs = 2'000;  // for data being sent when the server ends

}  // namespace

PushManager::PushManager(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry,
                         PullManager& pulls, OriginHealth& health, ClientTls& tls)
    : snapshot_(std::move(snapshot)),
      sessions_(sessions),
      registry_(registry),
      pulls_(pulls),
      health_(health),
      tls_(tls),
      followed_(registry, *this) {}

PushManager::~PushManager() { stop(); }

void PushManager::start() {
    started_ = true;
    followed_.start(snapshot_);
}

void PushManager::stop() {
    if (!std::exchange(started_, false)) return;
    followed_.stop();
    for (auto& push : pushes_) push->finish();
    pushes_.wait_empty(Deadline::in_ms(kStopMs));
    pushes_.cancel_and_join();
}

void PushManager::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    followed_.reload(next);
}

bool PushManager::wants(const live::Stream& stream, const config::Vhost& vhost) const {
    return vhost.get<VhostConfig>().is_edge() && !(stream.publisher() && stream.publisher()->is_relay());
}

bool PushManager::follow(live::Stream& stream, const config::Vhost&) {
    const std::string path = relay::path_through(stream, registry_);
    if (path.size() > ::rtmp::kMaxForwardPath) {
        runtime::error_limited("edge push: {} has passed through too many servers", stream.key().text());
        return false;
    }
    // One that still sends the rest of an earlier publication would have the name at the origin.
    for (auto& push : pushes_)
        if (&push->stream() == &stream) push->stop();
    PushOwner& owner = *this;
    auto push = std::make_unique<Push>(owner, base::Ref<live::Stream>(&stream), path);
    if (!push->start()) return false;
    pushes_.add(std::move(push));
    return true;
}

void PushManager::keep(live::Stream& stream, const config::Vhost&) {
    for (auto& push : pushes_)
        if (&push->stream() == &stream && !push->ending()) push->reconfigure();
}

void PushManager::leave(live::Stream& stream) {
    for (auto& push : pushes_)
        if (&push->stream() == &stream) push->finish();
    // Another publisher may have the stream at the origin.
    const bool is_over = !stream.published();
    if (is_over && pulls_.fetching(stream.key()) != Fetching::kNever && stream.demand() > 0)
        pulls_.resume(stream.key());
}

}  // namespace service::edge
