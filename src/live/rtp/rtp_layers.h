#pragma once
// RtpLayers: the layers of a publisher's simulcast, each with a lane for its video. The stream's own lane has the
// audio, and the video of the layer that the publisher chooses: players read another layer's video from here. A layer
// that nobody reads keeps no packets. Owned by the stream's RtpLane; its layers are destroyed when another publisher
// has the stream or it is unpublished, after RtpSink::on_tracks() or on_unpublish(), in which players leave them.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "live/rtp/rtp_lane.h"

namespace live {

struct RtpLayer {
    std::string rid;
    std::unique_ptr<RtpLane> lane;
    int width = 0, height = 0;  // of its newest keyframe; 0: not known
    uint32_t kbps = 0;          // in the last second
    bool is_sent = false;       // the publisher sends it now

    uint64_t pixels() const { return static_cast<uint64_t>(width) * static_cast<uint64_t>(height); }
};

class RtpLayers {
  public:
    // main: the stream's lane, which must outlive it. video: the track of each of them.
    RtpLayers(Stream& stream, const RtpLane& main, const RtpTrack& video, std::span<const std::string> rids) {
        for (const std::string& rid : rids) {
            RtpLayer& layer = layers_.emplace_back();
            layer.rid = rid;
            layer.lane = std::make_unique<RtpLane>(stream);
            layer.lane->share_clock(main);
            layer.lane->set_tracks({video});
        }
    }

    std::vector<RtpLayer>& all() { return layers_; }
    const std::vector<RtpLayer>& all() const { return layers_; }
    // The layer that the stream's lane carries; null: none yet.
    const RtpLayer* carried() const { return carried_ < layers_.size() ? &layers_[carried_] : nullptr; }
    void set_carried(size_t layer) { carried_ = layer; }
    // As RtpLane::append(), while somebody reads the layer.
    void append(size_t layer, const RtpHead& head, std::span<const uint8_t> payload, int64_t now_us) {
        layers_[layer].lane->append_if_read(0, head, payload, now_us);
    }
    size_t memory() const {
        size_t bytes = 0;
        for (const RtpLayer& layer : layers_) bytes += layer.lane->ring().memory();
        return bytes;
    }

  private:
    std::vector<RtpLayer> layers_;  // in the order of the publisher's offer
    size_t carried_ = SIZE_MAX;
};

}  // namespace live
