#pragma once
// RtpReader: the tracks of one RTP source (an RTSP publisher, a camera, a WebRTC publisher's lane) as frames of a
// stream. RTP carries presentation times only: decoding times are derived from them (media/decoding_times.h). All
// tracks are put on one timeline by their times of arrival, sender reports and RTP-Info (track_clocks.h). A sequence
// header comes before the first frame that needs it, from the description or from the stream. Pure: times are passed
// in.
//
// It does not reorder packets: over UDP a rtp::JitterBuffer per track is in front of it. The memory of a track is
// bounded by rtp::Depacketizer::kMaxUnit.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "convert/rtp/clock_rate_check.h"
#include "convert/rtp/track_clocks.h"
#include "media/decoding_times.h"
#include "media/track_set.h"
#include "protocol/rtp/packet.h"
#include "protocol/rtp/payload/depacketizer.h"
#include "protocol/rtp/payload/format.h"
#include "protocol/sdp/session/track.h"

namespace convert {

struct RtpReaderOptions {
    // After a loss video frames are dropped until a keyframe; false: only damaged frames are.
    bool wait_for_keyframe = true;
    // Audio is brought into step with video, and not the other way (TrackClocks::set_movable()).
    bool audio_is_movable = false;
};

struct RtpReaderCounters {
    uint64_t frames = 0;          // without sequence headers
    uint64_t skipped_frames = 0;  // video before a keyframe
    uint64_t other_packets = 0;   // of another payload type
    uint64_t jumps = 0;           // timestamps that contradict the times of arrival, or another SSRC
    rtp::DepacketizerCounters payloads;
};

class RtpReader {
  public:
    // tracks: as read from a description; at most media::kMaxTracks of a kind, with different indices.
    explicit RtpReader(const std::vector<sdp::SessionTrack>& tracks, const RtpReaderOptions& options = {});
    RtpReader(RtpReader&&) = default;

    // A packet of a track (by its index in the constructor's list), in sequence order. after_hole: packets before it
    // are missing and will not come. now_us: its arrival, microseconds of any monotonic clock. Appends the frames that
    // are complete.
    void push(size_t track, const rtp::Header& header, std::span<const uint8_t> payload, bool after_hole,
              int64_t now_us, std::vector<media::Frame>& out);
    // ntp and timestamp: of a sender report of the track. It may come before the track's first packet.
    void on_sender_report(size_t track, uint64_t ntp, uint32_t timestamp) {
        clocks_.on_sender_report(track, ntp, timestamp);
    }
    // The track's rtptime of RTP-Info in PLAY's answer.
    void set_rtp_info(size_t track, uint32_t timestamp) { clocks_.set_rtp_info(track, timestamp); }

    // The next packets of the track are of another source or were not preceded by those before; its timestamps
    // continue.
    void restart(size_t track) { restart(inputs_[track]); }

    // What frames have been returned of: codecs, sequence headers, languages.
    const media::TrackSet& tracks() const { return *set_; }
    // A video track waits for a keyframe: a source may be asked for one (RTCP PLI).
    bool waits_for_keyframe() const;
    RtpReaderCounters counters(size_t track) const;
    // Bytes of allocations for frames in progress.
    size_t memory() const;
    // Appends a number for each track with a frame in progress, which the track's next frame has not.
    void list_unfinished(std::vector<uint64_t>& frames) const;
    // Gives up the frames in progress, as after a loss, and releases their memory.
    void drop_unfinished();
    // Hz: the described one, or the one that the audio's timestamps count at.
    uint32_t clock_rate(size_t track) const { return clocks_.rate(track); }

  private:
    struct Input {
        sdp::SessionTrack track;
        std::unique_ptr<rtp::Depacketizer> depacketizer;
        media::DecodingTimes decoding_times;
        ClockRateCheck rate_check{1};
        uint32_t ssrc = 0;
        bool begun = false;
        bool has_declared_type = false;
        bool waits_for_keyframe = false;
        bool discontinuity = false;  // of the next frame
        media::Time last = media::kNoTime;
        RtpReaderCounters counters;
        rtp::DepacketizerCounters earlier;  // of depacketizers that were replaced
    };

    bool accept(Input& input, const rtp::Header& header);
    void make_depacketizer(Input& input) const;
    void restart(Input& input);
    void lose(Input& input) const;
    void take(Input& input, rtp::Unit& unit, int64_t now_us, std::vector<media::Frame>& out);
    void take_header(Input& input, media::Frame frame, media::Time time, std::vector<media::Frame>& out);
    bool is_wanted(Input& input, const media::Frame& frame) const;
    void emit(media::Frame frame, std::vector<media::Frame>& out);

    RtpReaderOptions options_;
    std::vector<Input> inputs_;
    TrackClocks clocks_;
    base::Ref<media::TrackSet> set_;
    std::vector<rtp::Unit> units_;  // kept to reuse its memory
};

}  // namespace convert
