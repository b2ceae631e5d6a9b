#include "convert/rtp/rtp_reader.h"

#include <algorithm>
#include <utility>

namespace convert {

using media::Codec;
using media::Frame;
using media::Kind;
using media::Time;

namespace {

constexpr Time kLeastStep = media::from_ticks(1, 90'000);

std::vector<uint32_t> clock_rates(const std::vector<sdp::SessionTrack>& tracks) {
    std::vector<uint32_t> rates;
    for (const sdp::SessionTrack& track : tracks) rates.push_back(track.format.clock_rate);
    return rates;
}

bool has_decoding_order(Codec codec) { return codec == Codec::kH264 || codec == Codec::kHevc; }

void add(rtp::DepacketizerCounters& sum, const rtp::DepacketizerCounters& more) {
    sum.malformed += more.malformed;
    sum.damaged += more.damaged;
    sum.undecodable += more.undecodable;
    if (!more.defect.empty()) sum.defect = more.defect;
}

}  // namespace

RtpReader::RtpReader(const std::vector<sdp::SessionTrack>& tracks, const RtpReaderOptions& options)
    : options_(options), clocks_(clock_rates(tracks)), set_(base::make_ref<media::TrackSet>()) {
    std::vector<media::TrackName> names;
    for (const sdp::SessionTrack& track : tracks) {
        Input& input = inputs_.emplace_back();
        input.track = track;
        input.waits_for_keyframe = track.kind == Kind::kVideo;
        input.rate_check = ClockRateCheck(track.format.clock_rate);
        if (options.audio_is_movable && track.kind == Kind::kAudio) clocks_.set_movable(inputs_.size() - 1);
        make_depacketizer(input);
        if (!track.language.empty()) names.push_back({track.kind, track.index, track.language, {}});
    }
    if (!names.empty()) set_->describe(std::move(names));
}

void RtpReader::make_depacketizer(Input& input) const {
    if (input.depacketizer) add(input.earlier, input.depacketizer->counters());
    input.depacketizer = rtp::make_depacketizer(input.track.format);
    CHECK(input.depacketizer != nullptr);
    if (!input.track.parameter_sets.empty()) input.depacketizer->know(input.track.parameter_sets);
}

void RtpReader::push(size_t track, const rtp::Header& header, std::span<const uint8_t> payload, bool after_hole,
                     int64_t now_us, std::vector<Frame>& out) {
    Input& input = inputs_[track];
    if (!accept(input, header)) return;
    // Another source, such as a camera that has rebooted.
    if (input.begun && header.ssrc != input.ssrc) {
        clocks_.restart(track);
        restart(input);
    }
    input.begun = true;
    input.ssrc = header.ssrc;
    if (after_hole) lose(input);
    units_.clear();
    input.depacketizer->push({payload, header.timestamp, header.marker, after_hole}, units_);
    for (rtp::Unit& unit : units_) take(input, unit, now_us, out);
}

// Packets of another payload type are comfort noise, or what a sender forgot to describe: they are another format. But
// some senders use another type than they describe, for all packets.
bool RtpReader::accept(Input& input, const rtp::Header& header) {
    if (header.payload_type == input.track.payload_type) {
        input.has_declared_type = true;
        return true;
    }
    if (!input.has_declared_type) return true;
    ++input.counters.other_packets;
    return false;
}

void RtpReader::restart(Input& input) {
    make_depacketizer(input);
    input.decoding_times.restart();
    input.waits_for_keyframe = input.track.kind == Kind::kVideo;
}

void RtpReader::lose(Input& input) const {
    input.rate_check.restart();
    if (input.track.kind == Kind::kVideo && options_.wait_for_keyframe) input.waits_for_keyframe = true;
}

void RtpReader::take(Input& input, rtp::Unit& unit, int64_t now_us, std::vector<Frame>& out) {
    const auto track = static_cast<size_t>(&input - inputs_.data());
    Frame frame = std::move(unit.frame);
    frame.track = input.track.index;
    const auto moment = clocks_.at(track, unit.timestamp, now_us);
    if (moment.jumped) {
        ++input.counters.jumps;
        input.discontinuity = true;
        input.decoding_times.restart();
    }
    if (frame.kind == Kind::kAudio && !frame.sequence_header)
        if (auto rate = input.rate_check.check(frame, unit.timestamp)) clocks_.set_rate(track, *rate);
    if (frame.sequence_header) return take_header(input, std::move(frame), moment.time, out);
    if (!is_wanted(input, frame)) return;
    if (has_decoding_order(frame.codec)) {
        frame.dts = input.decoding_times.next(moment.time);
    } else {
        frame.dts = input.last == media::kNoTime ? moment.time : std::max(moment.time, input.last + kLeastStep);
    }
    frame.cts = frame.kind == Kind::kVideo ? moment.time - frame.dts : Time(0);
    input.last = frame.dts;
    frame.discontinuity = std::exchange(input.discontinuity, false);
    ++input.counters.frames;
    emit(std::move(frame), out);
}

void RtpReader::take_header(Input& input, Frame frame, Time time, std::vector<Frame>& out) {
    if (has_decoding_order(frame.codec)) input.decoding_times.declare(frame);
    input.rate_check.set_header(frame);
    frame.dts = input.last == media::kNoTime ? time : input.last;
    emit(std::move(frame), out);
}

bool RtpReader::is_wanted(Input& input, const Frame& frame) const {
    if (!input.waits_for_keyframe) return true;
    if (frame.keyframe) {
        // The frames before are missing.
        input.decoding_times.restart();
        input.waits_for_keyframe = false;
        return true;
    }
    ++input.counters.skipped_frames;
    return false;
}

void RtpReader::emit(Frame frame, std::vector<Frame>& out) {
    if (set_->changes_state(frame)) set_->update(frame);
    out.push_back(std::move(frame));
}

bool RtpReader::waits_for_keyframe() const {
    return std::ranges::any_of(inputs_, [](const Input& input) { return input.begun && input.waits_for_keyframe; });
}

RtpReaderCounters RtpReader::counters(size_t track) const {
    const Input& input = inputs_[track];
    RtpReaderCounters counters = input.counters;
    counters.payloads = input.earlier;
    add(counters.payloads, input.depacketizer->counters());
    return counters;
}

size_t RtpReader::memory() const {
    size_t bytes = 0;
    for (const Input& input : inputs_) bytes += input.depacketizer->memory();
    return bytes;
}

void RtpReader::list_unfinished(std::vector<uint64_t>& frames) const {
    for (size_t track = 0; track < inputs_.size(); ++track) {
        if (inputs_[track].depacketizer->memory() == 0) continue;
        const RtpReaderCounters now = counters(track);
        const uint64_t ended = now.frames + now.skipped_frames + now.payloads.damaged + now.payloads.undecodable;
        frames.push_back(static_cast<uint64_t>(track) << 48 | (ended & 0xffff'ffff'ffff));
    }
}

void RtpReader::drop_unfinished() {
    for (Input& input : inputs_) {
        if (input.depacketizer->memory() == 0) continue;
        input.depacketizer->drop();
        lose(input);
    }
}

}  // namespace convert
