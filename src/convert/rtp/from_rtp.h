#pragma once
// From RTP to frames (rtc_to_rtmp): converts a WebRTC publisher's packets to frames of the stream, for players by RTMP,
// FLV and HLS, and for recorders. It converts only while frames have a consumer. Packets are sorted, and missing ones
// are awaited and given up (protocol/rtp/jitter_buffer.h); video continues at a keyframe after a gap; Opus and G.711
// are converted to AAC. Both tracks are put on one timeline by the publisher's sender reports; until those have
// arrived, by the time of arrival.

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "convert/audio/audio_converter.h"
#include "live/hub/stream.h"
#include "live/rtp/rtp_lane.h"
#include "protocol/rtp/jitter_buffer.h"
#include "protocol/rtp/payload/depacketizer.h"

namespace convert {

struct RtpToFramesOptions {
    int aac_bitrate = 48'000;     // bit/s
    int64_t keyframe_ms = 6'000;  // interval of keyframe requests; 0: only when one is needed
};

struct RtpToFramesCounters {
    uint64_t video_frames = 0;
    uint64_t audio_frames = 0;
    uint64_t given_up_packets = 0;  // missing packets that did not arrive in time
    uint64_t skipped_frames = 0;    // video frames that came before the next keyframe
};

class RtpToFrames final : private live::RtpSink, private live::DemandWatcher {
  public:
    // publication: in force; the frames go into it. It must outlive the bridge; so must its stream, whose lane gets its
    // tracks and packets from the same publisher.
    RtpToFrames(live::Publication& publication, const RtpToFramesOptions& options);
    ~RtpToFrames();

    // To be called by the publisher's tick: every 100 ms or so.
    void on_tick(int64_t now_ms);

    bool running() const { return running_; }
    // Bytes of allocations for frames in progress.
    size_t memory() const;
    // Appends a number for each track with a frame in progress, which the track's next frame has not.
    void list_unfinished(std::vector<uint64_t>& frames) const;
    // Gives up the frames in progress, as after a loss, and releases their memory.
    void drop_unfinished();
    const RtpToFramesCounters& counters() const { return counters_; }

  private:
    // A track of the lane, by its index there.
    struct Input {
        media::Kind kind = media::Kind::kData;
        media::Codec codec = media::Codec::kNone;
        int channels = 0;
        uint32_t clock_rate = 0;
        std::unique_ptr<rtp::Depacketizer> depacketizer;  // null: not converted
        rtp::JitterBuffer buffer;
        uint64_t given_up = 0;  // of the buffer's count, added already
        uint32_t units = 0;     // that came out of the depacketizer
        bool arrived = false;   // a packet of it
        live::RtpClock clock;   // as it was used last
    };

    bool on_packets(int64_t now_us) override;
    void prefetch_needs() const override {}  // a lane has one of them
    void on_tracks() override;
    void on_track_restart(size_t track) override;
    void demand_changed(live::Stream& stream) override;

    void start();
    void take_tracks();
    void make_depacketizer(Input& input, const live::RtpTrack& track);
    void stop();
    void drain(Input& input, int64_t now_us);
    void take_unit(Input& input, rtp::Unit& unit);
    void take_video(media::Frame frame, int64_t time_us);
    void take_audio(const Input& input, const media::Frame& frame, int64_t time_us);
    void announce_audio(media::Time time);
    void publish_audio_header(media::Time time);
    void open_converter(const Input& input);
    void publish_audio(std::vector<EncodedAudio>& packets, const base::Slice& header);
    int64_t time_of(Input& input, uint32_t timestamp);
    void publish(media::Frame frame, media::Time time);
    void wait_for_keyframe();

    live::Publication& publication_;
    live::Stream& stream_;
    live::RtpLane& lane_;
    RtpToFramesOptions options_;
    bool running_ = false;
    std::array<Input, live::RtpRing::kMaxTracks> inputs_;
    uint64_t cursor_ = 0;
    bool waits_for_keyframe_ = true;
    int64_t keyframe_asked_ms_ = 0;
    // The moments that are 0 on the frames' timeline: by the lane's estimate from arrival, and by sender reports.
    std::optional<int64_t> origin_us_, exact_origin_us_;
    base::Slice audio_header_;
    std::unique_ptr<AudioConverter> converter_;
    base::Slice announced_audio_;  // the AudioSpecificConfig that was published last; empty: none since the start
    std::vector<rtp::Unit> units_;
    RtpToFramesCounters counters_;
};

}  // namespace convert
