#pragma once
// The frames-to-RTP bridges of all streams that are published as frames. A bridge is created when a stream is published
// in a vhost whose rtc has rtmp_to_rtc on, and is destroyed when the stream is unpublished. (The opposite bridge, for a
// stream published by RTP, is owned by its publisher: convert/rtp/from_rtp.h.)

#include <map>
#include <memory>

#include "config/snapshot.h"
#include "convert/rtp/to_rtp.h"
#include "live/hub/followed_streams.h"
#include "runtime/loop/log_limit.h"

namespace service::rtc {

class Bridges final : private live::StreamFollower {
  public:
    // The registry must outlive it. Streams that are already published get a bridge at once.
    Bridges(live::Registry& registry, config::SnapshotPtr snapshot);
    // Begins and ends bridges at once; the options of those that stay are not changed.
    void reload(const config::SnapshotPtr& next);

    // Null: the stream has no bridge.
    const convert::FramesToRtp* find(const live::Stream& stream) const;
    size_t size() const { return bridges_.size(); }

  private:
    bool wants(const live::Stream& stream, const config::Vhost& vhost) const override;
    bool follows_copies() const override { return true; }
    bool follow(live::Stream& stream, const config::Vhost& vhost) override;
    void leave(live::Stream& stream) override { bridges_.erase(&stream); }

    live::FollowedStreams followed_;
    config::SnapshotPtr snapshot_;
    runtime::LogLimit unplayable_log_;
    std::map<const live::Stream*, std::unique_ptr<convert::FramesToRtp>> bridges_;
};

}  // namespace service::rtc
