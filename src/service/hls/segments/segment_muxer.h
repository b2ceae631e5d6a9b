#pragma once
// SegmentMuxer: converts a segment's frames to bytes of one format: TS or fragmented MP4. It makes no decisions about
// segments.

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "service/hls/segments/segmenter.h"

namespace service::hls {

class ByteSink {
  public:
    virtual void put(std::span<const uint8_t> bytes) = 0;

  protected:
    ~ByteSink() = default;
};

class SegmentMuxer {
  public:
    virtual ~SegmentMuxer() = default;
    // first: the segment's first frame. fresh: the first segment, or one after a discontinuity. kRefused: the format
    // supports none of the tracks.
    virtual base::Result<void> open(const media::TrackSet& tracks, const media::Frame& first, bool fresh) = 0;
    // A frame of an unsupported track produces no bytes.
    virtual base::Result<void> add(const media::Frame& frame) = 0;
    // What was added so far is whole: a player that has it needs nothing of what follows.
    virtual void end_part(std::optional<media::Time> next_video_dts) = 0;
    // Whether the open segment has a track of that kind: one that the format supports.
    virtual bool has(media::Kind kind) const = 0;
    // The initialisation segment of the open segment; null: the format has none.
    virtual std::shared_ptr<const std::string> init() const { return nullptr; }
    // Bytes of the frames that it holds.
    virtual size_t memory() const { return 0; }
};

// Whether segments of the format have the track. An error: the reason why they do not.
base::Result<void> ts_carries(const media::Track& track);
base::Result<void> mp4_carries(const media::Track& track);

// The sink must outlive it.
std::unique_ptr<SegmentMuxer> make_ts_muxer(ByteSink& sink);
std::unique_ptr<SegmentMuxer> make_mp4_muxer(ByteSink& sink);

}  // namespace service::hls
