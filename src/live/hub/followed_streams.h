#pragma once
// FollowedStreams: the streams that a service follows because the configuration of their vhost says so: recorders,
// segmenters, forwarders, bridges. It checks when a stream is published and when the configuration is reloaded, and
// notifies the service of changes. The streams of a vhost that is not enabled are not followed.

#include <set>

#include "config/snapshot.h"
#include "live/hub/registry.h"

namespace live {

// A service that follows streams. Must not yield.
class StreamFollower {
  public:
    // Whether the configuration of the stream's vhost enables the service for it.
    virtual bool wants(const Stream& stream, const config::Vhost& vhost) const = 0;
    // Whether it follows streams that are published in another process of this server, too, where the same service
    // follows them (PublicationOwner::is_copy()).
    virtual bool follows_copies() const { return false; }
    // Begins with a published stream; one that is published now has no frame yet. False: the service could not begin,
    // and has logged why; it is called again when the configuration is reloaded.
    virtual bool follow(Stream& stream, const config::Vhost& vhost) = 0;
    // The configuration was reloaded, and still enables it.
    virtual void keep(Stream&, const config::Vhost&) {}
    // The configuration no longer enables it, or the stream is no longer published: its last frame is out.
    virtual void leave(Stream& stream) = 0;

  protected:
    ~StreamFollower() = default;
};

class FollowedStreams final : private StreamWatcher {
  public:
    // Both must outlive it.
    FollowedStreams(Registry& registry, StreamFollower& follower) : registry_(registry), follower_(follower) {}
    ~FollowedStreams() { stop(); }
    FollowedStreams(const FollowedStreams&) = delete;

    // Begins with the streams that are published.
    void start(config::SnapshotPtr snapshot);
    // No notifications after it: the service itself ends what it follows.
    void stop();
    void reload(config::SnapshotPtr next);
    bool contains(const Stream& stream) const { return followed_.contains(&stream); }

  private:
    void stream_published(Stream& stream) override;
    void stream_unpublished(Stream& stream) override;
    void check(Stream& stream);

    Registry& registry_;
    StreamFollower& follower_;
    config::SnapshotPtr snapshot_;  // null: stopped
    std::set<const Stream*> followed_;
};

}  // namespace live
