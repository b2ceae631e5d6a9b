#pragma once
// From RTP to frames (rtc_to_rtmp): converts a WebRTC publisher's packets to frames of the stream, for players by RTMP,
// FLV, HLS and RTSP, and for recorders. It converts only while frames have a consumer. Packets are sorted, and missing
// ones are awaited and given up (protocol/rtp/jitter_buffer.h); frames and their times are made by an RtpReader, which
// has the sender reports from the lane; Opus and G.711 are converted to AAC. Of each kind the first track is converted.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "convert/audio/audio_converter.h"
#include "convert/rtp/rtp_reader.h"
#include "live/hub/stream.h"
#include "live/rtp/rtp_lane.h"
#include "protocol/rtp/jitter_buffer.h"

namespace convert {

struct RtpToFramesOptions {
    int aac_bitrate = 48'000;     // bit/s
    int64_t keyframe_ms = 6'000;  // interval of keyframe requests; 0: only when one is needed
    // When the oldest packet of that track of the lane was missed that the publisher is still asked for, in ms of the
    // loop's clock: frames wait as long. Nothing: there is none.
    std::function<std::optional<int64_t>(size_t track)> missing_since_ms{};
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
    size_t memory() const { return reader_ ? reader_->memory() : 0; }
    // Appends a number for each track with a frame in progress, which the track's next frame has not.
    void list_unfinished(std::vector<uint64_t>& frames) const {
        if (reader_) reader_->list_unfinished(frames);
    }
    // Gives up the frames in progress, as after a loss, and releases their memory.
    void drop_unfinished();
    RtpToFramesCounters counters() const;

  private:
    // A track of the lane, by its index there.
    struct Input {
        std::optional<size_t> reader_track;  // nothing: not converted
        media::Kind kind = media::Kind::kData;
        rtp::JitterBuffer buffer;
        uint64_t given_up = 0;            // of the buffer's count, added already
        bool has_received = false;        // a packet of it
        std::optional<int64_t> reported;  // the timestamp of the sender report that the reader got last
    };

    bool on_packets(int64_t now_us) override;
    void prefetch_needs() const override {}  // a lane has one of them
    void on_tracks() override { take_tracks(); }
    void on_track_restart(size_t track) override;
    void demand_changed(live::Stream& stream) override;

    void start();
    void take_tracks();
    void make_reader();
    void restart_inputs();
    void stop();
    void drain(size_t track, int64_t now_us);
    std::optional<int64_t> requested_since_us(size_t track) const;
    void report_clock(size_t track);
    void take_video(media::Frame frame);
    void take_audio(const media::Frame& frame);
    void announce_audio(media::Time time);
    void publish_audio_header(media::Time time);
    void open_converter();
    void publish_audio(std::vector<EncodedAudio>& packets, const base::Slice& header);
    void request_keyframe();

    live::Publication& publication_;
    live::Stream& stream_;
    live::RtpLane& lane_;
    RtpToFramesOptions options_;
    bool running_ = false;
    std::vector<live::RtpTrack> tracks_;  // those of reader_
    std::optional<RtpReader> reader_;     // nothing: it has never run
    std::array<Input, live::RtpRing::kMaxTracks> inputs_;
    uint64_t cursor_ = 0;
    int64_t keyframe_asked_ms_ = 0;
    base::Slice audio_header_;
    std::unique_ptr<AudioConverter> converter_;
    base::Slice announced_audio_;       // the AudioSpecificConfig that was published last; empty: none since the start
    std::vector<media::Frame> frames_;  // kept to reuse its memory
    RtpToFramesCounters counters_;
};

}  // namespace convert
