#pragma once
// FollowedStreams: the streams that a service follows because the configuration of their vhost says so: recorders,
// segmenters, forwarders, bridges. It looks when a stream is published and when the configuration is reloaded, and
// tells the service what is new. A vhost that is not enabled has nobody that follows.

#include <set>

#include "config/snapshot.h"
#include "live/hub/registry.h"

namespace live {

// A service that follows streams. Must not yield.
class StreamFollower {
  public:
    // Whether the configuration of the stream's vhost asks for it.
    virtual bool wants(const Stream& stream, const config::Vhost& vhost) const = 0;
    // Begins with a published stream; one that is published now has no frame yet. False: it cannot, and the service has
    // told why; it is asked again when the configuration is reloaded.
    virtual bool follow(Stream& stream, const config::Vhost& vhost) = 0;
    // The configuration was reloaded, and still asks for it.
    virtual void keep(Stream&, const config::Vhost&) {}
    // The configuration asks for it no longer, or the stream is not published any more: its last frame is out.
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

    // Begins with what is published.
    void start(config::SnapshotPtr snapshot);
    // Tells nothing any more: the service ends by itself what it follows.
    void stop();
    void reload(config::SnapshotPtr next);
    bool contains(const Stream& stream) const { return followed_.contains(&stream); }

  private:
    void stream_published(Stream& stream) override;
    void stream_unpublished(Stream& stream) override;
    void look_at(Stream& stream);

    Registry& registry_;
    StreamFollower& follower_;
    config::SnapshotPtr snapshot_;  // null: stopped
    std::set<const Stream*> followed_;
};

}  // namespace live
