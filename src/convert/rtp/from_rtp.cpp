#include "convert/rtp/from_rtp.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "convert/statistics.h"
#include "protocol/rtp/ntp.h"
#include "protocol/sdp/sprop.h"
#include "runtime/loop/clock.h"

namespace convert {

using media::Codec;
using media::Kind;

namespace {

// RTP times are exact to the sample; a larger deviation is a loss.
constexpr int kAudioSlackMs = 15;
// Interval of requests while waiting for a keyframe. The lane merges frequent requests.
constexpr int64_t kKeyframeRetryMs = 1'000;

sdp::SessionTrack reader_track(const live::RtpTrack& track) {
    sdp::SessionTrack read;
    read.kind = track.kind;
    read.payload_type = track.payload_type;
    read.format.codec = track.codec;
    read.format.clock_rate = track.clock_rate;
    read.format.channels = std::clamp<int>(track.channels, 1, 2);
    if (!track.sprop.empty()) read.parameter_sets = sdp::parameter_sets(track.codec, track.sprop);
    return read;
}

}  // namespace

RtpToFrames::RtpToFrames(live::Publication& publication, const RtpToFramesOptions& options)
    : publication_(publication), stream_(*publication.stream()), lane_(stream_.rtp_lane()), options_(options) {
    stream_.watch_demand(*this);
    demand_changed(stream_);
}

RtpToFrames::~RtpToFrames() {
    stream_.unwatch_demand(*this);
    if (!running_) return;
    --statistics().from_rtp;
    lane_.leave(*this, live::RtpLane::Wants::kConvert);
}

// The sink is removed on the next tick: a subscriber may leave from within a frame that is being published.
void RtpToFrames::demand_changed(live::Stream& stream) {
    if (!running_ && stream.frames_wanted()) start();
}

void RtpToFrames::start() {
    running_ = true;
    ++statistics().from_rtp;
    take_tracks();
    auto keyframe = lane_.ring().newest_keyframe();
    if (keyframe) cursor_ = *keyframe;
    for (uint64_t at = cursor_; at < lane_.ring().end(); ++at) inputs_[lane_.ring().at(at).track].has_received = true;
    lane_.join(*this, live::RtpLane::Wants::kConvert);
    if (!keyframe) request_keyframe();
    base::log::trace("rtc: {}: RTP is converted to frames", stream_.key().text());
}

void RtpToFrames::stop() {
    running_ = false;
    --statistics().from_rtp;
    lane_.leave(*this, live::RtpLane::Wants::kConvert);
    restart_inputs();
    converter_.reset();
    announced_audio_ = {};
    publication_.pause();
    base::log::trace("rtc: {}: nobody takes frames", stream_.key().text());
}

// While the tracks are the same, so is the reader, and the frames' times continue.
void RtpToFrames::take_tracks() {
    if (!reader_ || tracks_ != lane_.tracks()) make_reader();
    restart_inputs();
    cursor_ = lane_.ring().end();
    converter_.reset();
    audio_header_ = {};
    announced_audio_ = {};
}

void RtpToFrames::restart_inputs() {
    for (Input& input : inputs_) {
        input.buffer.reset();
        input.has_received = false;
        if (input.reader_track) reader_->restart(*input.reader_track);
    }
}

void RtpToFrames::make_reader() {
    tracks_ = lane_.tracks();
    inputs_ = decltype(inputs_)();
    std::vector<sdp::SessionTrack> read;
    for (size_t i = 0; i < tracks_.size(); ++i) {
        const live::RtpTrack& track = tracks_[i];
        inputs_[i].kind = track.kind;
        sdp::SessionTrack converted = reader_track(track);
        if (lane_.track_of(track.kind) != static_cast<int>(i) || !rtp::make_depacketizer(converted.format)) continue;
        inputs_[i].reader_track = read.size();
        read.push_back(std::move(converted));
    }
    reader_.emplace(read, RtpReaderOptions{.audio_is_movable = true});
}

// Audio continues without a gap, as do its numbers and times. New video frames cannot refer to earlier ones.
void RtpToFrames::on_track_restart(size_t track) {
    Input& input = inputs_[track];
    if (input.kind != Kind::kVideo || !input.reader_track) return;
    (void)on_packets(runtime::now_us());
    input.buffer.reset();
    reader_->restart(*input.reader_track);
}

bool RtpToFrames::on_packets(int64_t now_us) {
    const live::RtpRing& ring = lane_.ring();
    // Packets that the ring has dropped are a gap like any other.
    for (cursor_ = std::max(cursor_, ring.begin()); cursor_ < ring.end(); ++cursor_) {
        const live::RtpPacket& packet = ring.at(cursor_);
        Input& input = inputs_[packet.track];
        if (!input.reader_track) continue;
        input.has_received = true;
        input.buffer.push({packet.sequence, packet.timestamp, packet.marker, packet.arrival_us, packet.payload});
        drain(packet.track, now_us);
    }
    return false;
}

void RtpToFrames::on_tick(int64_t now_ms) {
    if (running_ && !stream_.frames_wanted()) stop();
    if (!running_) return;
    for (size_t track = 0; track < inputs_.size(); ++track)
        if (inputs_[track].reader_track) drain(track, now_ms * 1000);
    int64_t every = options_.keyframe_ms > 0 ? options_.keyframe_ms : INT64_MAX / 2;
    if (reader_->waits_for_keyframe()) every = std::min(every, kKeyframeRetryMs);
    if (now_ms - keyframe_asked_ms_ < every || lane_.track_of(Kind::kVideo) < 0) return;
    keyframe_asked_ms_ = now_ms;
    lane_.request_keyframe(now_ms);
}

void RtpToFrames::drop_unfinished() {
    if (!reader_) return;
    reader_->drop_unfinished();
    request_keyframe();
}

RtpToFramesCounters RtpToFrames::counters() const {
    RtpToFramesCounters counters = counters_;
    for (const Input& input : inputs_)
        if (input.reader_track) counters.skipped_frames += reader_->counters(*input.reader_track).skipped_frames;
    return counters;
}

void RtpToFrames::request_keyframe() {
    if (lane_.track_of(Kind::kVideo) < 0) return;
    keyframe_asked_ms_ = runtime::now_ms();
    lane_.request_keyframe(keyframe_asked_ms_);
}

std::optional<int64_t> RtpToFrames::requested_since_us(size_t track) const {
    const auto since_ms = options_.missing_since_ms ? options_.missing_since_ms(track) : std::nullopt;
    return since_ms ? std::optional(*since_ms * 1000) : std::nullopt;
}

void RtpToFrames::drain(size_t track, int64_t now_us) {
    Input& input = inputs_[track];
    report_clock(track);
    const auto requested = requested_since_us(track);
    while (auto next = input.buffer.pop(now_us, requested)) {
        if (next->after_hole && input.kind == Kind::kVideo) request_keyframe();
        const rtp::JitterPacket& packet = next->packet;
        const rtp::Header header{packet.marker, tracks_[track].payload_type, static_cast<uint16_t>(packet.sequence),
                                 packet.timestamp, 0};
        frames_.clear();
        reader_->push(*input.reader_track, header, packet.payload, next->after_hole, packet.arrival_us, frames_);
        for (size_t i = 0; i < frames_.size(); ++i) {
            if (input.kind == Kind::kVideo)
                take_video(std::move(frames_[i]));
            else
                take_audio(frames_[i]);
        }
    }
    counters_.given_up_packets += input.buffer.counters().given_up - input.given_up;
    input.given_up = input.buffer.counters().given_up;
}

// The publisher's sender reports, as the lane has them.
void RtpToFrames::report_clock(size_t track) {
    const live::RtpClock& clock = lane_.clock(track);
    Input& input = inputs_[track];
    if (!clock.exact || input.reported == clock.timestamp) return;
    input.reported = clock.timestamp;
    reader_->on_sender_report(*input.reader_track, rtp::ntp_of_unix_us(clock.wall_us),
                              static_cast<uint32_t>(clock.timestamp));
}

void RtpToFrames::take_video(media::Frame frame) {
    if (!frame.sequence_header) {
        ++counters_.video_frames;
        announce_audio(frame.pts());
    }
    publication_.publish(std::move(frame));
}

// Converted audio is later than the first video frames. Players that are told of the tracks once, by the header of an
// FLV file, have to know it by then. A track without packets is not announced: such players would wait for it.
void RtpToFrames::announce_audio(media::Time time) {
    if (!announced_audio_.empty()) return;
    const int audio = lane_.track_of(Kind::kAudio);
    if (audio < 0) return;
    const Input& input = inputs_[static_cast<size_t>(audio)];
    if (!input.reader_track || !input.has_received) return;
    announced_audio_ = AudioTranscoder::aac_header(std::clamp<int>(tracks_[static_cast<size_t>(audio)].channels, 1, 2));
    if (!announced_audio_.empty()) publish_audio_header(time);
}

void RtpToFrames::publish_audio_header(media::Time time) {
    media::Frame header;
    header.kind = Kind::kAudio;
    header.codec = Codec::kAac;
    header.sequence_header = true;
    header.payload = announced_audio_;
    header.dts = time;
    publication_.publish(std::move(header));
}

void RtpToFrames::open_converter() {
    const live::RtpTrack& track = tracks_[static_cast<size_t>(lane_.track_of(Kind::kAudio))];
    AudioTranscoderOptions options;
    options.from = track.codec;
    options.from_header = audio_header_;
    options.from_channels = std::clamp<int>(track.channels, 1, 2);
    options.from_rate = static_cast<int>(track.clock_rate);
    options.to = Codec::kAac;
    options.bitrate = options_.aac_bitrate;
    options.slack_ms = kAudioSlackMs;
    converter_ = std::make_unique<AudioConverter>(
        stream_.key().text(), options,
        [this](std::vector<EncodedAudio>& packets, const base::Slice& header) { publish_audio(packets, header); });
}

void RtpToFrames::take_audio(const media::Frame& frame) {
    if (frame.sequence_header) {
        audio_header_ = frame.payload;
        return;
    }
    if (!converter_) open_converter();
    converter_->push(frame.payload, media::to_us(frame.pts()));
}

void RtpToFrames::publish_audio(std::vector<EncodedAudio>& packets, const base::Slice& header) {
    if (announced_audio_ != header) {
        announced_audio_ = header;
        publish_audio_header(media::from_ticks(packets.front().time, AudioTranscoder::kSampleRate));
    }
    media::Frame aac;
    aac.kind = Kind::kAudio;
    aac.codec = Codec::kAac;
    for (EncodedAudio& packet : packets) {
        aac.payload = std::move(packet.payload);
        aac.dts = media::from_ticks(packet.time, AudioTranscoder::kSampleRate);
        ++counters_.audio_frames;
        publication_.publish(aac);
    }
}

}  // namespace convert
