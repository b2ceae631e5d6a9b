#pragma once
// The bridges of all streams that are published by frames: one is made where a vhost's rtc has rtmp_to_rtc on, and
// lives as long as the publishing. (That of a stream published by RTP, bridge_to_frames.h, is its publisher's.)

#include <map>
#include <memory>

#include "config/snapshot.h"
#include "convert/rtp/to_rtp.h"
#include "live/hub/registry.h"

namespace service::rtc {

class Bridges final : private live::StreamWatcher {
  public:
    // The registry outlives it. Streams that are published already get theirs.
    Bridges(live::Registry& registry, config::SnapshotPtr snapshot);
    ~Bridges();
    // For streams that are published from now on; bridges that are there stay as they are.
    void set_snapshot(config::SnapshotPtr snapshot) { snapshot_ = std::move(snapshot); }

    // Null: the stream has none.
    const convert::FramesToRtp* find(const live::Stream& stream) const;
    size_t size() const { return bridges_.size(); }

  private:
    void stream_published(live::Stream& stream) override;
    void stream_unpublished(live::Stream& stream) override;

    live::Registry& registry_;
    config::SnapshotPtr snapshot_;
    std::map<const live::Stream*, std::unique_ptr<convert::FramesToRtp>> bridges_;
};

}  // namespace service::rtc
