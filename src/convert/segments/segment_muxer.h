#pragma once
// SegmentMuxer: converts the frames of a stream's segments to bytes of one format, TS or fragmented MP4, in lanes: what
// renditions are made of. It makes no decisions about segments.
//
// A lane of MP4 is a track: fragments of one track each, one after the other, are what a segment with several tracks
// has, under an initialisation segment with them all (ISO/IEC 14496-12, 8.8; the ids of tracks are fixed). A lane of TS
// is a program: that of the first video and the first audio track, and one for each other audio track.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "media/track_set.h"

namespace convert {

// A bit for each lane. Those of MP4 and of TS are apart: a stream may have both.
using Lanes = uint32_t;
inline constexpr Lanes kMp4Lanes = 0xffff, kTsLanes = 0xffff0000;

// Bytes, in this order.
using Pieces = std::span<const std::span<const uint8_t>>;

class LaneSink {
  public:
    // lanes: one, or kMp4Lanes: what a rendition has before the first bytes of its lanes, which lives as long as the
    // program.
    virtual void put(Lanes lanes, Pieces pieces) = 0;

  protected:
    ~LaneSink() = default;
};

// What a lane of MP4 has of the open segment, as far as its parts have ended, in ticks of its track.
struct LaneTimes {
    uint32_t timescale = 0;  // ticks per second; 0: it has no frame
    int64_t begin = 0;       // when its first frame is decoded,
    int64_t presented = 0;   // and when it is presented
    int64_t end = 0;         // when its last frame ends, as it is decoded
};

class SegmentMuxer {
  public:
    virtual ~SegmentMuxer() = default;
    // The lane that has the track.
    virtual Lanes lane_of(media::Kind kind, uint8_t track) const = 0;
    // Begins a segment. first: its first frame. fresh: the first segment, or one after a discontinuity, or of other
    // tracks than the one before.
    virtual void open(const media::TrackSet& tracks, const media::Frame& first, bool fresh) = 0;
    // A frame of a track that is in no lane produces no bytes. An error concerns its lane, which has a part of it.
    virtual base::Result<void> add(const media::Frame& frame) = 0;
    // What was added so far is whole: a player that has it needs nothing of what follows.
    virtual void end_part(std::optional<media::Time> next_video_dts) = 0;
    // Whether the open segment has a track: one that the format supports.
    virtual bool has(media::Kind kind, uint8_t track) const = 0;
    // The initialisation segment of a rendition with these lanes; empty: the format has none.
    virtual std::string init(Lanes) const { return {}; }
    // Of one lane. Of TS: nothing.
    virtual LaneTimes times(Lanes) const { return {}; }
    // Bytes of the frames that it holds.
    virtual size_t memory() const { return 0; }
};

// Whether segments of the format have the track. An error: the reason why they do not.
base::Result<void> ts_carries(const media::Track& track);
base::Result<void> mp4_carries(const media::Track& track);

// The sink must outlive it.
std::unique_ptr<SegmentMuxer> make_ts_muxer(LaneSink& sink);
std::unique_ptr<SegmentMuxer> make_mp4_muxer(LaneSink& sink);

}  // namespace convert
