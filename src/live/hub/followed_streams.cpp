#include "live/hub/followed_streams.h"

#include <utility>
#include <vector>

namespace live {

void FollowedStreams::start(config::SnapshotPtr snapshot) {
    registry_.watch(*this);
    reload(std::move(snapshot));
}

void FollowedStreams::stop() {
    if (!std::exchange(snapshot_, nullptr)) return;
    registry_.unwatch(*this);
    followed_.clear();
}

void FollowedStreams::reload(config::SnapshotPtr next) {
    snapshot_ = std::move(next);
    // The callbacks may end streams, or begin others.
    std::vector<base::Ref<Stream>> published;
    registry_.for_each([&](Stream& stream) {
        if (stream.published()) published.push_back(base::Ref<Stream>(&stream));
    });
    for (const auto& stream : published)
        if (stream->published()) check(*stream);
}

void FollowedStreams::check(Stream& stream) {
    const config::Vhost* vhost = snapshot_->find_vhost(stream.key().vhost);
    const bool is_copy = stream.publisher() && stream.publisher()->is_copy();
    const bool wanted =
        vhost && vhost->enabled && (!is_copy || follower_.follows_copies()) && follower_.wants(stream, *vhost);
    const bool followed = contains(stream);
    if (followed && wanted) return follower_.keep(stream, *vhost);
    if (wanted && follower_.follow(stream, *vhost)) followed_.insert(&stream);
    if (followed && !wanted) {
        followed_.erase(&stream);
        follower_.leave(stream);
    }
}

void FollowedStreams::stream_published(Stream& stream) { check(stream); }

void FollowedStreams::stream_unpublished(Stream& stream) {
    if (followed_.erase(&stream) > 0) follower_.leave(stream);
}

}  // namespace live
