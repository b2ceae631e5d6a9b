#pragma once
// From frames to RTP (rtmp_to_rtc): writes a publisher's frames into the stream's RTP lane once, whatever the number of
// WebRTC players: the first video track packetised, the first audio track that can be converted as Opus. It converts
// only while there is an RTP player. It then begins with the frames since the last keyframe, so that the player has
// video at once; their times are compressed to just before the newest one's, since a player would take their real times
// for a delay that it has to keep.
//
// B-frames are dropped unless keep_bframe: browsers show frames in the order of arrival. Only references among B-frames
// are lost with them.

#include <memory>
#include <string>
#include <vector>

#include "convert/audio/audio_converter.h"
#include "live/hub/stream.h"
#include "live/rtp/rtp_lane.h"
#include "media/b_frame.h"
#include "media/per_track.h"
#include "protocol/rtp/payload/packetizer.h"
#include "runtime/loop/log_limit.h"

namespace convert {

// The fmtp in SDP of a video track made of frames with this sequence header. Empty: there are no parameters, or the
// header is malformed.
std::string fmtp_of(const media::Frame& header);

struct FramesToRtpOptions {
    bool keep_bframe = false;
    bool keep_sei = true;
    bool merge_nalus = false;
    int opus_bitrate = 48'000;  // bit/s
    int opus_ptime_ms = 40;     // 20, 40 or 60
};

struct FramesToRtpCounters {
    uint64_t video_frames = 0;
    uint64_t audio_packets = 0;
    uint64_t b_frames_dropped = 0;
    uint64_t unusable_frames = 0;  // malformed, before their sequence header, or of a codec that RTP does not carry
};

class FramesToRtp final : private live::FrameSink, private live::DemandWatcher {
  public:
    // The stream must outlive it, and must be published by frames while it lives. unplayable_log: for tracks that RTP
    // does not carry, of all streams; must outlive it.
    FramesToRtp(live::Stream& stream, const FramesToRtpOptions& options, runtime::LogLimit& unplayable_log);
    ~FramesToRtp();

    bool running() const { return running_; }
    const FramesToRtpCounters& counters() const { return counters_; }

  private:
    // The output of a track: its index in the lane, and its own numbers.
    struct Output {
        size_t track = 0;
        uint16_t sequence = 0;
        int64_t clock_reported_ms = INT64_MIN / 2;
    };

    void on_tracks(const base::Ref<media::TrackSet>& tracks) override;
    void on_frame(const media::Frame& frame) override;
    size_t memory() const override { return converter_ ? converter_->waiting_bytes() : 0; }
    void demand_changed(live::Stream& stream) override;
    void update_video(const media::Track& track);
    void update_audio(const media::Track& track);
    void report_unplayable(const media::Track& track);
    void announce();
    void begin();
    bool take_video(const media::Frame& frame, uint32_t timestamp);
    void take_audio(const media::Frame& frame);
    void open_converter(const media::Frame& frame);
    void send_audio(const EncodedAudio& packet);
    // Into the buffer. False: it was malformed.
    bool packetize(rtp::Packetizer& packetizer, const media::Frame& frame);
    // What is in the buffer goes to the lane. False: nothing.
    bool append(Output& output, bool keyframe, uint32_t timestamp);
    void report_clock(Output& output, int64_t time_us, uint32_t timestamp);

    live::Stream& stream_;
    FramesToRtpOptions options_;
    runtime::LogLimit& unplayable_log_;
    bool subscribing_ = true;
    bool running_ = false;
    bool waits_for_keyframe_ = true;

    media::Codec video_codec_ = media::Codec::kNone;
    int nalu_length_size_ = 4;
    std::string video_fmtp_;
    uint32_t video_revision_ = 0;          // media::Track::revision
    bool gop_is_of_older_header_ = false;  // until the next keyframe
    std::unique_ptr<rtp::Packetizer> video_packetizer_;
    media::BFrameDetector b_frames_;
    Output video_;

    // The first track that is converted; the first one where none is.
    uint8_t audio_index_ = 0;
    media::Codec audio_codec_ = media::Codec::kNone;
    uint32_t audio_revision_ = 0;
    base::Slice audio_header_;
    bool audio_usable_ = false;
    media::PerTrack<media::Codec> unplayable_;   // of the track, when it was reported
    std::unique_ptr<AudioConverter> converter_;  // null: not needed, or not yet
    std::unique_ptr<rtp::Packetizer> audio_packetizer_ = rtp::make_packetizer(media::Codec::kOpus, {});
    Output audio_;

    // Buffers of one frame; members to reuse their memory.
    base::SliceBuilder buffer_;
    std::vector<rtp::PayloadSpan> payloads_;
    FramesToRtpCounters counters_;
};

}  // namespace convert
