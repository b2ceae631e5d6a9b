#include "protocol/ts/frame_reader.h"

#include <utility>

#include "media/access_unit.h"
#include "media/audio_headers.h"
#include "media/h264.h"
#include "media/h265.h"
#include "media/nalu.h"
#include "protocol/ts/av1_units.h"

namespace ts {
namespace {

using media::Codec;

constexpr int kLengthSize = 4;

// Delimiters, ends of sequence and stream, filler (H.264, table 7-1; HEVC, table 7-1).
bool is_needless(Codec codec, std::span<const uint8_t> unit) {
    if (codec == Codec::kHevc) {
        const uint8_t type = media::h265::nalu_type(unit);
        return type >= 35 && type <= 38;
    }
    const uint8_t type = media::h264::nalu_type(unit);
    return type >= 9 && type <= 12;
}

// How FLV's audio header has G.711 of one channel; the decoder is told nothing else.
constexpr uint8_t kMonoAlaw = 0x72, kMonoUlaw = 0x82;

media::Time time_of(int64_t ticks) { return media::from_ticks(ticks, kTicksPerSecond); }

// The next packet of a control header and the frame behind it ("Opus in MPEG-TS"): eleven bits of prefix, three flags,
// the size as a sum of bytes, the fields selected by the flags. Nothing: malformed. size: of header and frame.
std::optional<base::Slice> next_opus_packet(const base::Slice& bytes, size_t& end) {
    if (bytes.size() < 3 || bytes[0] != 0x7f || (bytes[1] & 0xe0) != 0xe0) return std::nullopt;
    const uint8_t flags = bytes[1];
    size_t at = 2, size = 0;
    while (at < bytes.size() && bytes[at] == 255) size += bytes[at++];
    if (at < bytes.size()) size += bytes[at++];
    at += flags & 0x10 ? 2 : 0;
    at += flags & 0x08 ? 2 : 0;
    if (flags & 0x04 && at < bytes.size()) at += 1u + bytes[at];
    if (at > bytes.size() || size == 0 || size > bytes.size() - at) return std::nullopt;
    end = at + size;
    return bytes.sub(at, size);
}

}  // namespace

FrameReader::Track& FrameReader::track_of(const ElementaryStream& stream) {
    auto& tracks = stream.kind() == media::Kind::kVideo ? video_ : audio_;
    CHECK(stream.track < tracks.size());
    Track& track = tracks[stream.track];
    if (track.pid != stream.pid || track.codec != stream.codec) {
        unreadable_ += track.audio.unreadable();
        track = Track();
        track.pid = stream.pid;
        track.codec = stream.codec;
        track.index = stream.track;
        track.sets = ParameterSets(stream.codec);
        track.audio = AudioSplitter(stream.codec);
    }
    return track;
}

void FrameReader::take(const PesPacket& packet) {
    const bool is_known = packet.stream.codec != Codec::kNone;
    Track* track = is_known ? &track_of(packet.stream) : nullptr;
    if (packet.damaged) {
        ++damaged_;
        if (!track) return;
        if (packet.dts) finish_held(*track);
        track->held.open = false;
        track->audio.restart();
        return;
    }
    if (!track) return;
    if (packet.after_loss) track->audio.restart();
    if (packet.stream.kind() == media::Kind::kVideo) return take_video(packet, *track);
    if (track->codec != Codec::kOpus) return take_audio(packet, *track);
    if (!packet.dts) return void(++damaged_);
    take_opus(packet, *track, {time_of(*packet.dts), time_of(*packet.pts)});
}

void FrameReader::take_video(const PesPacket& packet, Track& track) {
    if (!packet.dts) return continue_unit(packet, track);
    finish_held(track);
    const Times times{time_of(*packet.dts), time_of(*packet.pts)};
    if (!packet.may_continue) return take_unit(track, packet.payload, times, packet.random_access);
    track.held.open = true;
    track.held.random_access = packet.random_access;
    track.held.times = times;
    track.held.bytes.clear();
    track.held.bytes.append(packet.payload);
}

// Without a time of its own it belongs to the access unit before.
void FrameReader::continue_unit(const PesPacket& packet, Track& track) {
    Held& held = track.held;
    if (!held.open || packet.after_loss || held.bytes.size() + packet.payload.size() > kMaxUnit) {
        held.open = false;
        ++damaged_;
        return;
    }
    held.bytes.append(packet.payload);
    if (!packet.may_continue) finish_held(track);
}

void FrameReader::finish_held(Track& track) {
    if (std::exchange(track.held.open, false))
        take_unit(track, track.held.bytes.freeze(), track.held.times, track.held.random_access);
}

void FrameReader::finish() {
    for (Track& track : video_) finish_held(track);
}

void FrameReader::drop_unfinished() {
    for (Track& track : video_) {
        if (track.held.open) ++damaged_;
        track.held = Held();
    }
    for (Track& track : audio_) track.audio.restart();
}

void FrameReader::take_unit(Track& track, const base::Slice& bytes, Times times, bool random_access) {
    if (track.codec == Codec::kAv1) return take_av1(track, bytes, times);
    take_nal_units(track, bytes, times, random_access);
}

void FrameReader::take_nal_units(Track& track, const base::Slice& bytes, Times times, bool random_access) {
    base::SliceBuilder payload(bytes.size() + 64);
    track.sets.begin();
    const bool has_slices = append_units(track, bytes, payload);
    auto header = track.sets.changed_header();
    if (!header)
        ++unreadable_;
    else if (*header)
        put_header(track, std::move(**header), times);
    if (!has_slices) return;
    const auto unit = media::read_access_unit(track.codec, payload.bytes(), kLengthSize, random_access);
    if (!unit) return void(++unreadable_);
    const bool keyframe = track.recovery_points.may_begin_at(unit->keyframe, unit->recovery_point);
    put_out(track, payload.freeze(), times, keyframe);
}

// False: there is nothing to publish.
bool FrameReader::append_units(Track& track, const base::Slice& bytes, base::SliceBuilder& payload) {
    media::AnnexBReader reader(bytes);
    for (auto unit = reader.next(); unit; unit = reader.next())
        if (!is_needless(track.codec, *unit) && !track.sets.take(*unit)) media::append_length_prefixed(payload, *unit);
    if (payload.size() == 0 && !track.sets.came()) ++unreadable_;
    return payload.size() > 0;
}

void FrameReader::take_av1(Track& track, const base::Slice& bytes, Times times) {
    auto unit = read_av1_unit(bytes);
    if (!unit || unit->payload.empty()) return void(++unreadable_);
    if (!unit->config.empty()) put_header(track, std::move(unit->config), times);
    put_out(track, std::move(unit->payload), times, unit->keyframe);
}

void FrameReader::take_audio(const PesPacket& packet, Track& track) {
    split_.clear();
    track.audio.take(packet.payload, packet.pts ? std::optional(time_of(*packet.pts)) : std::nullopt, split_);
    for (AudioFrame& frame : split_) {
        const Times times{frame.time, frame.time};
        if (!frame.config.empty()) put_header(track, std::move(frame.config), times);
        put_out(track, std::move(frame.payload), times);
    }
    split_.clear();
}

void FrameReader::take_opus(const PesPacket& packet, Track& track, Times times) {
    base::Slice bytes = packet.payload;
    put_header(track, media::make_opus_head(packet.stream.opus_channels, 0, 48'000), times);
    while (bytes.size() > 2) {
        size_t end = 0;
        auto frame = next_opus_packet(bytes, end);
        if (!frame) return void(++unreadable_);
        const auto parsed = media::parse_opus_packet(*frame);
        if (!parsed) return void(++unreadable_);
        put_out(track, *std::move(frame), times);
        times.dts += media::from_us(parsed->duration_us);
        times.pts = times.dts;
        bytes = bytes.sub(end);
    }
}

void FrameReader::put_header(Track& track, base::Slice header, Times times) {
    if (header == track.header) return;
    track.header = header;
    media::Frame frame;
    frame.kind = media::codec_info(track.codec).kind;
    frame.codec = track.codec;
    frame.track = track.index;
    frame.sequence_header = true;
    frame.dts = times.dts;
    frame.payload = std::move(header);
    sink_(std::move(frame));
}

void FrameReader::put_out(const Track& track, base::Slice payload, Times times, bool keyframe) {
    media::Frame frame;
    frame.kind = media::codec_info(track.codec).kind;
    frame.codec = track.codec;
    frame.track = track.index;
    frame.keyframe = keyframe;
    frame.dts = times.dts;
    frame.cts = times.pts - times.dts;
    frame.payload = std::move(payload);
    if (track.codec == Codec::kPcmAlaw) frame.publisher_format = kMonoAlaw;
    if (track.codec == Codec::kPcmUlaw) frame.publisher_format = kMonoUlaw;
    sink_(std::move(frame));
}

uint64_t FrameReader::unreadable() const {
    uint64_t all = unreadable_;
    for (const Track& track : audio_) all += track.audio.unreadable();
    return all;
}

size_t FrameReader::memory() const {
    size_t bytes = 0;
    for (const Track& track : video_)
        if (track.held.open) bytes += track.held.bytes.capacity();
    for (const Track& track : audio_) bytes += track.audio.memory();
    return bytes;
}

}  // namespace ts
