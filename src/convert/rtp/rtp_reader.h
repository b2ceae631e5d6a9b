#pragma once
// RtpReader: the tracks of one RTP source (an RTSP publisher, a camera) as frames of a stream. RTP carries presentation
// times only: decoding times are derived from them and from the number of reordered frames that the SPS declares, or,
// without a declaration, from what is seen. All tracks are put on one timeline: by time of arrival at first, by
// sender reports (RFC 3550, 6.4.1) or RTP-Info (RFC 2326, 12.33) as soon as they are there. Pure: times are passed in.
//
// It does not reorder packets: over UDP a rtp::JitterBuffer per track is in front of it. It has no limit of rate.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "media/track_set.h"
#include "protocol/rtp/packet.h"
#include "protocol/rtp/payload/depacketizer.h"
#include "protocol/rtp/payload/format.h"

namespace convert {

struct RtpReaderTrack {
    media::Kind kind = media::Kind::kVideo;
    uint8_t index = 0;  // media::Frame::track
    rtp::PayloadFormat format;
    std::vector<std::vector<uint8_t>> parameter_sets;  // from the description; empty: in the stream
    std::string language;
};

struct RtpReaderOptions {
    // After a loss video frames are dropped until a keyframe; false: only damaged frames are.
    bool wait_for_keyframe = true;
};

struct RtpReaderCounters {
    uint64_t frames = 0;
    uint64_t skipped_frames = 0;   // video before a keyframe
    uint64_t timestamp_jumps = 0;  // timestamps that contradict the times of arrival by more than 10 s
    uint64_t restarts = 0;         // the source changed its SSRC
    rtp::DepacketizerCounters payloads;
};

// A sink of frames: the headers of a track come before its first frame.
class RtpReader {
  public:
    // At most media::kMaxTracks of a kind.
    explicit RtpReader(std::vector<RtpReaderTrack> tracks, const RtpReaderOptions& options = {});
    ~RtpReader();
    RtpReader(RtpReader&&) noexcept;

    // A packet of tracks[track], in sequence order. after_hole: packets before it are missing and will not come.
    // now_us: time of arrival by any monotonic clock. Appends the frames that are complete, with their times.
    void push(size_t track, const rtp::Header& header, std::span<const uint8_t> payload, bool after_hole,
              int64_t now_us, std::vector<media::Frame>& out);
    // A sender report of a track. Ignored where the track's times contradict it by more than 10 s, as those of devices
    // whose clock is being set.
    void on_sender_report(size_t track, uint64_t ntp, uint32_t timestamp, int64_t now_us);
    // RTP-Info of PLAY's answer: the timestamps that stand for the same moment in all tracks. Sender reports replace
    // it.
    void set_rtp_info(size_t track, uint32_t timestamp);

    // The headers and codecs known so far.
    const media::TrackSet& tracks() const;
    // Whether video waits for a keyframe, which a source may be asked for (RTCP PLI).
    bool waits_for_keyframe() const;
    RtpReaderCounters counters(size_t track) const;

  private:
    struct Input;
    std::vector<Input> inputs_;
    RtpReaderOptions options_;
};

}  // namespace convert
