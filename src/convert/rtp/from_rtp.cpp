#include "convert/rtp/from_rtp.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "convert/statistics.h"
#include "protocol/sdp/sprop.h"
#include "runtime/loop/clock.h"

namespace convert {

using media::Codec;
using media::Kind;

namespace {

// The first frame's time on the frames' timeline: the other track's first frame may be a little older.
constexpr int64_t kFirstTimeUs = 200'000;
// RTP times are exact to the sample; a larger deviation is a loss.
constexpr int kAudioSlackMs = 15;
// Interval of requests while waiting for a keyframe. The lane merges frequent requests.
constexpr int64_t kKeyframeRetryMs = 1'000;

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
    for (uint64_t at = cursor_; at < lane_.ring().end(); ++at) inputs_[lane_.ring().at(at).track].arrived = true;
    lane_.join(*this, live::RtpLane::Wants::kConvert);
    if (!keyframe) wait_for_keyframe();
    base::log::trace("rtc: {}: RTP is converted to frames", stream_.key().text());
}

void RtpToFrames::stop() {
    running_ = false;
    --statistics().from_rtp;
    lane_.leave(*this, live::RtpLane::Wants::kConvert);
    for (Input& input : inputs_) input.buffer.reset();
    converter_.reset();
    announced_audio_ = {};
    publication_.pause();
    base::log::trace("rtc: {}: nobody takes frames", stream_.key().text());
}

void RtpToFrames::on_tracks() {
    take_tracks();
    origin_us_.reset();
    exact_origin_us_.reset();
}

void RtpToFrames::take_tracks() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
        inputs_[i] = Input();
        if (i >= lane_.tracks().size()) continue;
        const live::RtpTrack& track = lane_.tracks()[i];
        Input& input = inputs_[i];
        input.kind = track.kind;
        input.codec = track.codec;
        input.channels = std::clamp<int>(track.channels, 1, 2);
        input.clock_rate = track.clock_rate;
        make_depacketizer(input, track);
    }
    cursor_ = lane_.ring().end();
    converter_.reset();
    audio_header_ = {};
    announced_audio_ = {};
    waits_for_keyframe_ = true;
}

void RtpToFrames::make_depacketizer(Input& input, const live::RtpTrack& track) {
    input.depacketizer = rtp::make_depacketizer(track.codec, input.channels);
    if (input.depacketizer && !track.sprop.empty())
        input.depacketizer->know(sdp::parameter_sets(track.codec, track.sprop));
}

// Audio continues without a gap, as do its numbers and times. New video frames cannot refer to earlier ones.
void RtpToFrames::on_track_restart(size_t track) {
    Input& input = inputs_[track];
    if (input.kind != Kind::kVideo || !input.depacketizer) return;
    (void)on_packets(runtime::now_us());
    input.buffer.reset();
    make_depacketizer(input, lane_.tracks()[track]);
    waits_for_keyframe_ = true;
}

bool RtpToFrames::on_packets(int64_t now_us) {
    const live::RtpRing& ring = lane_.ring();
    // Packets that the ring has dropped are a gap like any other.
    for (cursor_ = std::max(cursor_, ring.begin()); cursor_ < ring.end(); ++cursor_) {
        const live::RtpPacket& packet = ring.at(cursor_);
        Input& input = inputs_[packet.track];
        if (!input.depacketizer) continue;
        input.arrived = true;
        input.buffer.push({packet.sequence, packet.timestamp, packet.marker, packet.came_us, packet.payload});
        drain(input, now_us);
    }
    return false;
}

void RtpToFrames::on_tick(int64_t now_ms) {
    if (running_ && !stream_.frames_wanted()) stop();
    if (!running_) return;
    for (Input& input : inputs_)
        if (input.depacketizer) drain(input, now_ms * 1000);
    int64_t every = options_.keyframe_ms > 0 ? options_.keyframe_ms : INT64_MAX / 2;
    if (waits_for_keyframe_) every = std::min(every, kKeyframeRetryMs);
    if (now_ms - keyframe_asked_ms_ < every || lane_.track_of(Kind::kVideo) < 0) return;
    keyframe_asked_ms_ = now_ms;
    lane_.request_keyframe(now_ms);
}

size_t RtpToFrames::memory() const {
    size_t bytes = 0;
    for (const Input& input : inputs_)
        if (input.depacketizer) bytes += input.depacketizer->memory();
    return bytes;
}

void RtpToFrames::list_unfinished(std::vector<uint64_t>& frames) const {
    for (size_t track = 0; track < inputs_.size(); ++track) {
        const Input& input = inputs_[track];
        if (!input.depacketizer || input.depacketizer->memory() == 0) continue;
        const uint64_t ended = input.units + input.depacketizer->counters().damaged;
        frames.push_back(static_cast<uint64_t>(track) << 48 | ended);
    }
}

void RtpToFrames::drop_unfinished() {
    for (Input& input : inputs_)
        if (input.depacketizer) input.depacketizer->drop();
    wait_for_keyframe();
}

void RtpToFrames::wait_for_keyframe() {
    waits_for_keyframe_ = true;
    if (lane_.track_of(Kind::kVideo) < 0) return;
    keyframe_asked_ms_ = runtime::now_ms();
    lane_.request_keyframe(keyframe_asked_ms_);
}

void RtpToFrames::drain(Input& input, int64_t now_us) {
    while (auto next = input.buffer.pop(now_us)) {
        if (next->after_hole && input.kind == Kind::kVideo) wait_for_keyframe();
        const rtp::JitterPacket& packet = next->packet;
        units_.clear();
        const rtp::DepacketizerPacket payload{packet.payload, packet.timestamp, packet.marker, next->after_hole};
        input.depacketizer->push(payload, units_);
        input.units += static_cast<uint32_t>(units_.size());
        for (rtp::Unit& unit : units_) take_unit(input, unit);
    }
    counters_.given_up_packets += input.buffer.counters().given_up - input.given_up;
    input.given_up = input.buffer.counters().given_up;
}

void RtpToFrames::take_unit(Input& input, rtp::Unit& unit) {
    int64_t time_us = time_of(input, unit.timestamp);
    if (input.kind == Kind::kVideo) {
        take_video(std::move(unit.frame), time_us);
    } else {
        take_audio(input, unit.frame, time_us);
    }
}

// The publisher's own clock where its sender reports are known, which is the same for both tracks. The first track with
// reports keeps its position on the timeline, and the other one is aligned to it.
int64_t RtpToFrames::time_of(Input& input, uint32_t timestamp) {
    const auto track = static_cast<size_t>(&input - inputs_.data());
    const live::RtpClock& clock = lane_.clock(track);
    const int64_t ticks = lane_.ticks(track, timestamp);
    int64_t moment = clock.moment(ticks);
    if (!origin_us_) origin_us_ = moment - kFirstTimeUs;
    if (clock.exact && !exact_origin_us_)
        exact_origin_us_ = *origin_us_ + (input.clock.known ? moment - input.clock.moment(ticks) : 0);
    input.clock = clock;
    // May be below 0, where a publisher sets its clock back: the stream's timeline continues from any time.
    return moment - (clock.exact ? *exact_origin_us_ : *origin_us_);
}

void RtpToFrames::take_video(media::Frame frame, int64_t time_us) {
    if (!frame.sequence_header) {
        if (frame.keyframe) waits_for_keyframe_ = false;
        if (waits_for_keyframe_) {
            ++counters_.skipped_frames;
            return;
        }
        ++counters_.video_frames;
        announce_audio(media::from_us(time_us));
    }
    publish(std::move(frame), media::from_us(time_us));
}

// Converted audio is later than the first video frames. Players that are told of the tracks once, by the header of an
// FLV file, have to know it by then. A track without packets is not announced: such players would wait for it.
void RtpToFrames::announce_audio(media::Time time) {
    if (!announced_audio_.empty()) return;
    auto audio = std::ranges::find_if(
        inputs_, [](const Input& input) { return input.kind == Kind::kAudio && input.depacketizer && input.arrived; });
    if (audio == inputs_.end()) return;
    announced_audio_ = AudioTranscoder::aac_header(audio->channels);
    if (!announced_audio_.empty()) publish_audio_header(time);
}

void RtpToFrames::publish_audio_header(media::Time time) {
    media::Frame header;
    header.kind = Kind::kAudio;
    header.codec = Codec::kAac;
    header.sequence_header = true;
    header.payload = announced_audio_;
    publish(std::move(header), time);
}

void RtpToFrames::open_converter(const Input& input) {
    AudioTranscoderOptions options;
    options.from = input.codec;
    options.from_header = audio_header_;
    options.from_channels = input.channels;
    options.from_rate = static_cast<int>(input.clock_rate);
    options.to = Codec::kAac;
    options.bitrate = options_.aac_bitrate;
    options.slack_ms = kAudioSlackMs;
    converter_ = std::make_unique<AudioConverter>(
        stream_.key().text(), options,
        [this](std::vector<EncodedAudio>& packets, const base::Slice& header) { publish_audio(packets, header); });
}

void RtpToFrames::take_audio(const Input& input, const media::Frame& frame, int64_t time_us) {
    if (frame.sequence_header) {
        audio_header_ = frame.payload;
        return;
    }
    if (!converter_) open_converter(input);
    converter_->push(frame.payload, time_us);
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
        ++counters_.audio_frames;
        publish(aac, media::from_ticks(packet.time, AudioTranscoder::kSampleRate));
    }
}

void RtpToFrames::publish(media::Frame frame, media::Time time) {
    frame.dts = time;
    publication_.publish(std::move(frame));
}

}  // namespace convert
