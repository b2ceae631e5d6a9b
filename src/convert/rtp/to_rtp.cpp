#include "convert/rtp/to_rtp.h"

#include <algorithm>
#include <utility>

#include "convert/statistics.h"
#include "media/h264.h"
#include "media/h265.h"
#include "protocol/flv/audio_format.h"
#include "protocol/rtp/payload/keyframe.h"
#include "protocol/sdp/format.h"
#include "runtime/loop/clock.h"

namespace convert {

using media::Codec;
using media::Kind;

namespace {

constexpr uint32_t kVideoClock = 90'000;
constexpr uint32_t kOpusClock = 48'000;
constexpr int64_t kReportClockMs = 1'000;
// The distances between the frames since the last keyframe are divided by this.
constexpr int64_t kGopCompression = 32;

uint32_t video_timestamp(media::Time pts) { return static_cast<uint32_t>(media::to_ticks(pts, kVideoClock)); }

bool is_video(const media::Frame& frame) {
    return frame.kind == Kind::kVideo && frame.track == 0 && !frame.sequence_header;
}

bool is_convertible(const media::Track& audio) {
    const Codec codec = audio.codec;
    return codec == Codec::kAac || codec == Codec::kMp3 || codec == Codec::kOpus || codec == Codec::kPcmAlaw ||
           codec == Codec::kPcmUlaw;
}

int length_size_of(const media::Frame& header) {
    if (header.codec == Codec::kH264)
        if (auto config = media::parse_avc_config(header.payload)) return config->nalu_length_size;
    if (header.codec == Codec::kHevc)
        if (auto config = media::parse_hevc_config(header.payload)) return config->nalu_length_size;
    return 4;
}

}  // namespace

// RFC 6184, 8.1; the other codecs need no parameters.
std::string fmtp_of(const media::Frame& header) {
    if (header.codec != Codec::kH264) return {};
    auto config = media::parse_avc_config(header.payload);
    if (!config) return {};
    return "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=" +
           sdp::profile_level_id(config->profile_idc, config->compatibility, config->level_idc);
}

FramesToRtp::FramesToRtp(live::Stream& stream, const FramesToRtpOptions& options, runtime::LogLimit& unplayable_log)
    : stream_(stream), options_(options), unplayable_log_(unplayable_log) {
    stream_.subscribe(*this);
    subscribing_ = false;
    announce();
    stream_.watch_demand(*this);
    demand_changed(stream_);
}

FramesToRtp::~FramesToRtp() {
    if (running_) --statistics().to_rtp;
    stream_.unwatch_demand(*this);
    stream_.unsubscribe(*this);
}

void FramesToRtp::on_tracks(const base::Ref<media::TrackSet>& tracks) {
    if (const media::Track* video = tracks->video(); video && video->revision != video_revision_) update_video(*video);
    const media::Track* audio = tracks->first(Kind::kAudio, is_convertible);
    for (const media::Track& track : tracks->tracks)
        if (track.kind == Kind::kAudio && (!audio || track.index < audio->index)) report_unplayable(track);
    if (!audio) audio = tracks->audio();
    if (audio && audio->revision != audio_revision_) update_audio(*audio);
}

void FramesToRtp::on_frame(const media::Frame& frame) {
    if (frame.kind == Kind::kVideo) {
        if (frame.track != 0) return;
        if (frame.keyframe) gop_is_of_older_header_ = false;
        if (!running_ || !take_video(frame, video_timestamp(frame.pts()))) return;
        report_clock(video_, media::to_us(frame.pts()), video_timestamp(frame.pts()));
    } else if (frame.kind == Kind::kAudio && frame.track == audio_index_ && running_) {
        take_audio(frame);
    }
}

void FramesToRtp::update_video(const media::Track& track) {
    video_revision_ = track.revision;
    bool other_codec = track.codec != video_codec_;
    if (other_codec) {
        video_codec_ = track.codec;
        rtp::PacketizerOptions options;
        options.merge_nalus = options_.merge_nalus;
        options.keep_sei = options_.keep_sei;
        video_packetizer_ = rtp::make_packetizer(track.codec, options);
        if (!video_packetizer_) report_unplayable(track);
    }
    std::string fmtp = video_fmtp_;
    if (const media::Frame* config = track.config(); config && video_packetizer_) {
        if (auto set = video_packetizer_->set_header(*config); !set)
            runtime::warn_some(unplayable_log_, "rtc: {}: {}", stream_.key().text(), set.error().text());
        nalu_length_size_ = length_size_of(*config);
        gop_is_of_older_header_ = true;
        fmtp = fmtp_of(*config);
    }
    if (!other_codec && fmtp == video_fmtp_) return;
    video_fmtp_ = std::move(fmtp);
    announce();
}

void FramesToRtp::update_audio(const media::Track& track) {
    audio_revision_ = track.revision;
    audio_index_ = track.index;
    audio_header_ = track.config() ? track.config()->payload : base::Slice();
    converter_.reset();
    if (track.codec == audio_codec_) return;
    audio_codec_ = track.codec;
    audio_usable_ = is_convertible(track);
    announce();
}

void FramesToRtp::report_unplayable(const media::Track& track) {
    if (std::exchange(unplayable_.at(track.kind, track.index), track.codec) == track.codec) return;
    runtime::warn_some(unplayable_log_, "rtc: {}: {} is not played by WebRTC", stream_.key().text(),
                       media::codec_info(track.codec).name);
}

// Sets the lane's tracks. The lane discards its packets by that.
void FramesToRtp::announce() {
    if (subscribing_) return;
    std::vector<live::RtpTrack> tracks;
    if (video_packetizer_) {
        video_.track = tracks.size();
        live::RtpTrack& track = tracks.emplace_back();
        track.kind = Kind::kVideo;
        track.codec = video_codec_;
        track.clock_rate = kVideoClock;
        track.fmtp = video_fmtp_;
    }
    if (audio_usable_) {
        audio_.track = tracks.size();
        live::RtpTrack& track = tracks.emplace_back();
        track.kind = Kind::kAudio;
        track.codec = Codec::kOpus;
        track.clock_rate = kOpusClock;
        track.channels = 2;
        track.fmtp = "minptime=10;useinbandfec=1";
        if (audio_codec_ != Codec::kOpus) track.ptime_ms = options_.opus_ptime_ms;
    }
    if (tracks.empty()) return;
    video_.clock_reported_ms = audio_.clock_reported_ms = INT64_MIN / 2;
    stream_.rtp_lane().set_tracks(std::move(tracks));
    if (running_) begin();
}

void FramesToRtp::demand_changed(live::Stream& stream) {
    if (running_ == stream.rtp_wanted()) return;
    running_ = !running_;
    if (running_) {
        ++statistics().to_rtp;
        return begin();
    }
    --statistics().to_rtp;
    converter_.reset();
    buffer_ = base::SliceBuilder();
    announce();  // a player that joins later must not begin with frames that are old by then
}

// The frames since the keyframe, with times compressed to just before the newest one's.
void FramesToRtp::begin() {
    waits_for_keyframe_ = true;
    if (gop_is_of_older_header_) return;
    media::Time newest = media::kNoTime;
    for (const media::Frame& frame : stream_.gop())
        if (is_video(frame)) newest = std::max(newest, frame.pts());
    bool has_sent = false;
    for (const media::Frame& frame : stream_.gop()) {
        if (!is_video(frame)) continue;
        has_sent |= take_video(frame, video_timestamp(newest - (newest - frame.pts()) / kGopCompression));
    }
    // A report based on the compressed times would be wrong, and a player would use it for long.
    if (has_sent) report_clock(video_, media::to_us(newest), video_timestamp(newest));
}

// False when no part of it was sent.
bool FramesToRtp::take_video(const media::Frame& frame, uint32_t timestamp) {
    if (!video_packetizer_) return false;
    if (frame.keyframe) waits_for_keyframe_ = false;
    if (waits_for_keyframe_) return false;
    if (!options_.keep_bframe && b_frames_.is_b_frame(frame, nalu_length_size_)) {
        ++counters_.b_frames_dropped;
        return false;
    }
    if (!packetize(*video_packetizer_, frame)) {
        waits_for_keyframe_ = true;
        return false;
    }
    ++counters_.video_frames;
    return append(video_, frame.keyframe, timestamp);
}

void FramesToRtp::open_converter(const media::Frame& frame) {
    AudioTranscoderOptions options;
    options.from = audio_codec_;
    options.from_header = audio_header_;
    if (auto channels = flv::channels(frame)) options.from_channels = *channels;
    options.to = Codec::kOpus;
    options.bitrate = options_.opus_bitrate;
    options.opus_ptime_ms = options_.opus_ptime_ms;
    converter_ = std::make_unique<AudioConverter>(stream_.key().text(), options,
                                                  [this](std::vector<EncodedAudio>& packets, const base::Slice&) {
                                                      for (const EncodedAudio& packet : packets) send_audio(packet);
                                                  });
}

void FramesToRtp::take_audio(const media::Frame& frame) {
    if (!audio_usable_) return;
    if (audio_codec_ == Codec::kOpus) return send_audio({frame.payload, media::to_ticks(frame.dts, kOpusClock)});
    if (!converter_) open_converter(frame);
    converter_->push(frame.payload, media::to_us(frame.dts));
}

void FramesToRtp::send_audio(const EncodedAudio& packet) {
    media::Frame opus;
    opus.kind = Kind::kAudio;
    opus.codec = Codec::kOpus;
    opus.payload = packet.payload;
    if (!packetize(*audio_packetizer_, opus)) return;
    auto timestamp = static_cast<uint32_t>(packet.time);
    append(audio_, false, timestamp);
    report_clock(audio_, packet.time * 1000 / (kOpusClock / 1000), timestamp);
    ++counters_.audio_packets;
}

bool FramesToRtp::packetize(rtp::Packetizer& packetizer, const media::Frame& frame) {
    buffer_.clear();
    payloads_.clear();
    if (packetizer.write(frame, buffer_, payloads_)) return true;
    ++counters_.unusable_frames;
    return false;
}

bool FramesToRtp::append(Output& output, bool keyframe, uint32_t timestamp) {
    for (const rtp::PayloadSpan& payload : payloads_) {
        live::RtpHead head;
        head.sequence = output.sequence++;
        head.timestamp = timestamp + payload.timestamp_offset;
        head.marker = payload.marker;
        head.keyframe = std::exchange(keyframe, false);
        stream_.rtp_lane().append(
            output.track, head, buffer_.bytes().subspan(payload.begin, payload.end - payload.begin), runtime::now_us());
    }
    return !payloads_.empty();
}

// Players need it to align both tracks.
void FramesToRtp::report_clock(Output& output, int64_t time_us, uint32_t timestamp) {
    int64_t now_ms = runtime::now_ms();
    if (now_ms - output.clock_reported_ms < kReportClockMs) return;
    output.clock_reported_ms = now_ms;
    stream_.rtp_lane().set_clock(output.track, time_us, timestamp);
}

}  // namespace convert
