#include "protocol/flv/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/bytes.h"
#include "media/aac.h"
#include "media/access_unit.h"
#include "media/audio_headers.h"
#include "media/track.h"
#include "protocol/amf/amf0.h"
#include "protocol/flv/codec_ids.h"
#include "protocol/flv/enhanced.h"
#include "protocol/flv/metadata.h"

namespace flv {

using base::Code;
using base::fail;
using base::Result;
using base::Slice;
using media::Codec;
using media::Frame;
using media::Kind;
using media::Time;

namespace {

enum FrameType : uint8_t { kKey = 1, kInter = 2, kDisposable = 3, kGeneratedKey = 4, kCommand = 5 };

// Made in place: on the hot path.
Result<Parsed> published(Frame&& frame) {
    Result<Parsed> parsed;
    parsed->frame = std::move(frame);
    return parsed;
}
Parsed nothing(std::string_view reason) { return {.frame = std::nullopt, .nothing = reason}; }

size_t index_of_kind(Kind kind) { return kind == Kind::kVideo ? 0 : 1; }

std::unexpected<base::Error> truncated(Kind kind, const Slice& body) {
    return fail(Code::kProtocol, fmt::format("FLV {} body of {} bytes is shorter than its header",
                                             kind == Kind::kVideo ? "video" : "audio", body.size()));
}

Result<void> set_frame_type(uint8_t type, Frame& frame) {
    if (type < kKey || type > kCommand) return fail(Code::kProtocol, fmt::format("FLV video frame type {}", type));
    frame.keyframe = type == kKey || type == kGeneratedKey;
    frame.disposable = type == kDisposable;
    return {};
}

Result<Codec> codec_of_fourcc(Kind kind, uint32_t fourcc) {
    if (auto codec = codec_from_fourcc(kind, fourcc)) return *codec;
    return fail(kUnknownCodec, fmt::format("{} codec '{}' is not supported", kind == Kind::kVideo ? "video" : "audio",
                                           fourcc_text(fourcc)));
}

}  // namespace

// The body and the read position.
struct BodyParser::Cursor {
    explicit Cursor(const Slice& body) : body(body), reader(body), end(body.size()) {}
    // Restricts reading to the part [from, from + size) of the body, which must be inside it.
    void narrow(size_t from, size_t size) {
        end = from + size;
        reader = base::ByteReader(body.bytes().subspan(from, size));
    }
    Slice payload() const { return body.sub(end - reader.left(), reader.left()); }

    const Slice& body;
    base::ByteReader reader;
    size_t end;
    uint8_t packet_type = 0;
    uint32_t fourcc = 0;
};

BodyParser::Track& BodyParser::track_of(const Frame& frame) { return tracks_.at(frame.kind, frame.track); }

// The duration by its samples; 0 when it is not known.
Time BodyParser::audio_duration(const Frame& frame) {
    const Track& track = track_of(frame);
    if (frame.codec != track.codec) [[unlikely]]
        update_audio(frame);
    if (frame.codec == Codec::kAac) return track.aac_duration;
    if (track.sample_rate <= 0) return Time(0);
    return media::from_ticks(media::audio_frame_samples(frame.codec, frame.payload), track.sample_rate);
}

// A sequence header, or the first frame of another codec.
void BodyParser::update_audio(const Frame& frame) {
    Track& track = track_of(frame);
    track.codec = frame.codec;
    track.sample_rate = 0;
    track.aac_duration = Time(0);
    if (frame.codec == Codec::kOpus) {
        track.sample_rate = 48'000;
    } else if (frame.codec != Codec::kAac) {
        if (auto info = media::audio_info(frame)) track.sample_rate = info->sample_rate;
    } else if (auto config = media::parse_aac_config(frame.payload); frame.sequence_header && config) {
        if (config->core_sample_rate > 0)
            track.aac_duration = media::from_ticks(config->samples_per_frame, config->core_sample_rate);
    }
}

void BodyParser::set_time(Frame& frame, uint32_t timestamp) {
    if (frame.sequence_header || frame.kind == Kind::kData) {
        if (frame.kind == Kind::kAudio) update_audio(frame);
        frame.dts = timestamps_.of_companion(timestamp);
        return;
    }
    frame.dts = timestamps_.of_frame(frame.kind, timestamp);
    if (frame.kind == Kind::kAudio) frame.dts = track_of(frame).clock.next(frame.dts, audio_duration(frame));
}

Result<Parsed> BodyParser::parse(uint8_t type, const Slice& body, uint32_t timestamp) {
    switch (type) {
        case 8:
            return audio(body, timestamp);
        case 9:
            return video(body, timestamp);
        case 15:
        case 18:
            return data(body, timestamp, type == 15);
        default:
            return nothing("a tag of another type");
    }
}

Result<Parsed> BodyParser::video(const Slice& body, uint32_t timestamp) {
    auto parsed = video_body(body);
    finish(Kind::kVideo, parsed, timestamp);
    return parsed;
}

Result<Parsed> BodyParser::video_body(const Slice& body) {
    if (body.empty()) return nothing("an empty video body");
    Frame frame;
    frame.kind = Kind::kVideo;
    Cursor c(body);
    bool enhanced = body[0] & 0x80;
    return enhanced ? this->enhanced(c, frame) : legacy_video(c, frame);
}

// What all bodies of audio and video have in common.
void BodyParser::finish(Kind kind, Result<Parsed>& parsed, uint32_t timestamp) {
    if (!parsed) return;  // headers that moved are told with the next body
    if (auto& moved = moved_[index_of_kind(kind)]; !moved.empty()) [[unlikely]]
        put_first(moved, *parsed);
    if (parsed->frame) set_time(*parsed->frame, timestamp);
    for (Frame& frame : parsed->more) set_time(frame, timestamp);
}

void BodyParser::put_first(std::vector<Frame>& moved, Parsed& parsed) {
    if (parsed.frame) moved.push_back(*std::move(parsed.frame));
    std::ranges::move(parsed.more, std::back_inserter(moved));
    parsed.frame = std::move(moved.front());
    parsed.nothing = {};
    parsed.more.assign(std::move_iterator(moved.begin() + 1), std::move_iterator(moved.end()));
    moved.clear();
}

// Section E.4.3.1.
Result<Parsed> BodyParser::legacy_video(Cursor& c, Frame& frame) {
    uint8_t first = c.reader.u8();
    uint8_t type = first >> 4;
    TRY(set_frame_type(type, frame));
    if (type == kCommand) return nothing("a video command");
    auto codec = codec_from_id(Kind::kVideo, first & 15);
    if (!codec) return fail(kUnknownCodec, fmt::format("FLV video codec {} is not supported", first & 15));
    frame.codec = *codec;
    claim_track_zero(Kind::kVideo);
    if (frame.codec != Codec::kH264 && frame.codec != Codec::kHevc) return coded_video(c, frame);
    uint8_t packet_type = c.reader.u8();
    if (c.reader.ok() && packet_type == 2) return nothing("the end of a sequence");
    frame.cts = media::from_ms(c.reader.i24());
    if (!c.reader.ok()) return truncated(Kind::kVideo, c.body);
    if (packet_type == 0) return sequence_header(c, frame);
    if (packet_type == 1) return coded_video(c, frame);
    return fail(Code::kProtocol, fmt::format("FLV video packet type {}", packet_type));
}

Result<Parsed> BodyParser::sequence_header(Cursor& c, Frame& frame) {
    frame.payload = c.payload();
    frame.sequence_header = true;
    frame.keyframe = false;
    frame.disposable = false;
    frame.cts = Time(0);
    if (frame.payload.empty()) return nothing("an empty sequence header");
    if (frame.kind == Kind::kAudio) {
        TRY(media::audio_info(frame), "sequence header");
        return published(std::move(frame));
    }
    media::VideoInfo info = TRY(media::video_info(frame), "sequence header");
    Track& track = track_of(frame);
    track.codec = frame.codec;
    track.nalu_length_size = info.nalu_length_size;
    return published(std::move(frame));
}

Result<Parsed> BodyParser::coded_video(Cursor& c, Frame& frame) {
    frame.payload = c.payload();
    if (frame.payload.empty()) return nothing("a video frame without payload");
    if (frame.codec == Codec::kH264 || frame.codec == Codec::kHevc) {
        Track& track = track_of(frame);
        if (frame.codec != track.codec) return nothing("a video frame before its sequence header");
        const media::AccessUnit unit =
            TRY(media::read_access_unit(frame.codec, frame.payload, track.nalu_length_size, frame.keyframe),
                media::codec_info(frame.codec).name);
        frame.keyframe = track.recovery_points.may_begin_at(unit.keyframe, unit.recovery_point);
        frame.disposable &= !frame.keyframe;
    }
    return published(std::move(frame));
}

// ExVideoTagHeader or ExAudioTagHeader, and the optional elements between it and the FourCC.
Result<Parsed> BodyParser::enhanced(Cursor& c, Frame& frame) {
    const bool video = frame.kind == Kind::kVideo;
    uint8_t first = c.reader.u8();
    c.packet_type = first & 15;
    if (video) TRY(set_frame_type(first >> 4 & 7, frame));
    TRY(skip_modifiers(c, video ? static_cast<uint8_t>(kVideoModEx) : static_cast<uint8_t>(kAudioModEx)));
    if (video && (first >> 4 & 7) == kCommand && c.packet_type != kVideoMetadata) return nothing("a video command");
    const bool multitrack = c.packet_type == (video ? static_cast<int>(kVideoMultitrack) : kAudioMultitrack);
    if (multitrack) return each_track(c, frame);
    c.fourcc = c.reader.u32();
    if (!c.reader.ok()) return truncated(frame.kind, c.body);
    return one_track(c, frame, 0);
}

// A part of a body that belongs to one track: the cursor is at its payload.
Result<Parsed> BodyParser::one_track(Cursor& c, Frame& frame, int id) {
    const std::optional<uint8_t> index = index_of(frame.kind, id);
    if (!index) return nothing("a track too many");
    frame.track = *index;
    frame.codec = TRY(codec_of_fourcc(frame.kind, c.fourcc));
    Parsed parsed = TRY(frame.kind == Kind::kVideo ? enhanced_video(c, frame) : enhanced_audio(c, frame));
    StandIn& stand_in = stand_in_[index_of_kind(frame.kind)];
    if (stand_in.id == id && parsed.frame && parsed.frame->sequence_header) {
        stand_in.header = *parsed.frame;
        stand_in.header->payload = Slice::copy(parsed.frame->payload);
    }
    return parsed;
}

Result<Parsed> BodyParser::enhanced_video(Cursor& c, Frame& frame) {
    switch (c.packet_type) {
        case kVideoSequenceStart:
            return sequence_header(c, frame);
        case kVideoCodedFrames:
            if (frame.codec == Codec::kH264 || frame.codec == Codec::kHevc) frame.cts = media::from_ms(c.reader.i24());
            if (!c.reader.ok()) return truncated(Kind::kVideo, c.body);
            return coded_video(c, frame);
        case kVideoCodedFramesX:
            return coded_video(c, frame);
        case kVideoSequenceEnd:
            return nothing("the end of a sequence");
        case kVideoMetadata:
            return nothing("video metadata");
        case kVideoMpeg2TsSequenceStart:
            return nothing("an MPEG-2 TS sequence start");
        default:
            return fail(Code::kProtocol, fmt::format("enhanced video packet type {}", c.packet_type));
    }
}

Result<Parsed> BodyParser::audio(const Slice& body, uint32_t timestamp) {
    auto parsed = audio_body(body);
    finish(Kind::kAudio, parsed, timestamp);
    return parsed;
}

Result<Parsed> BodyParser::audio_body(const Slice& body) {
    if (body.empty()) return nothing("an empty audio body");
    Frame frame;
    frame.kind = Kind::kAudio;
    Cursor c(body);
    bool enhanced = body[0] >> 4 == 9;
    return enhanced ? this->enhanced(c, frame) : legacy_audio(c, frame);
}

// Section E.4.2.1.
Result<Parsed> BodyParser::legacy_audio(Cursor& c, Frame& frame) {
    frame.publisher_format = c.reader.u8();
    auto codec = codec_from_id(Kind::kAudio, frame.publisher_format >> 4);
    if (!codec)
        return fail(kUnknownCodec, fmt::format("FLV sound format {} is not supported", frame.publisher_format >> 4));
    frame.codec = *codec;
    claim_track_zero(Kind::kAudio);
    if (frame.codec == Codec::kAac) {
        uint8_t packet_type = c.reader.u8();
        if (!c.reader.ok()) return truncated(Kind::kAudio, c.body);
        if (packet_type == 0) return sequence_header(c, frame);
        if (packet_type != 1) return fail(Code::kProtocol, fmt::format("FLV AAC packet type {}", packet_type));
    }
    frame.payload = c.payload();
    if (frame.payload.empty()) return nothing("an audio frame without payload");
    return published(std::move(frame));
}

Result<Parsed> BodyParser::enhanced_audio(Cursor& c, Frame& frame) {
    switch (c.packet_type) {
        case kAudioSequenceStart:
            if (frame.codec == Codec::kMp3 || frame.codec == Codec::kAc3 || frame.codec == Codec::kEac3) {
                return nothing("a sequence start of a codec that has none");
            }
            return sequence_header(c, frame);
        case kAudioCodedFrames:
            frame.payload = c.payload();
            if (frame.payload.empty()) return nothing("an audio frame without payload");
            return published(std::move(frame));
        case kAudioSequenceEnd:
            return nothing("the end of a sequence");
        case kAudioMultichannelConfig:
            return nothing("an audio channel layout");
        default:
            return fail(Code::kProtocol, fmt::format("enhanced audio packet type {}", c.packet_type));
    }
}

// Skips ModEx elements: size, data, and the next packet type. The only known one, a nanosecond offset, is finer than
// the resolution of our timestamps.
Result<void> BodyParser::skip_modifiers(Cursor& c, uint8_t mod_ex) {
    while (c.packet_type == mod_ex) {
        size_t size = c.reader.u8() + size_t{1};
        if (size == 256) size = c.reader.u16() + size_t{1};
        c.reader.skip(size);
        c.packet_type = c.reader.u8() & 15;
        if (!c.reader.ok()) return fail(Code::kProtocol, "enhanced RTMP: a ModEx runs past the end of the body");
    }
    return {};
}

// The index of a track; nothing: it is one too many. A body without track ids is track 0.
std::optional<uint8_t> BodyParser::index_of(Kind kind, int id) {
    if (id >= media::kMaxTracks) return std::nullopt;
    StandIn& stand_in = stand_in_[index_of_kind(kind)];
    auto& tracks = tracks_.of(kind);
    if (!std::exchange(has_track_[index_of_kind(kind)], true) && id != 0) stand_in.id = id;
    if (id == 0) has_track_zero_[index_of_kind(kind)] = true;
    if (id == stand_in.id) return 0;
    if (id == 0 && stand_in.id > 0) [[unlikely]] {
        // Track 0 has come: the other one gets the index that is its own.
        tracks[static_cast<size_t>(stand_in.id)] = std::exchange(tracks[0], {});
        if (stand_in.header) {
            auto& moved = moved_[index_of_kind(kind)];
            moved.push_back(*std::move(stand_in.header));
            moved.back().track = static_cast<uint8_t>(stand_in.id);
        }
        stand_in = {};
    }
    return static_cast<uint8_t>(id);
}

// A multitrack body: the parts of its tracks, track 0 first, so that no other stands in for it.
Result<Parsed> BodyParser::each_track(Cursor& c, const Frame& frame) {
    struct Part {
        int id;
        uint32_t fourcc;
        size_t from, size;
    };
    uint8_t types = c.reader.u8();
    uint8_t layout = types >> 4;
    c.packet_type = types & 15;
    if (layout > kManyTracksManyCodecs) return fail(Code::kProtocol, fmt::format("multitrack type {}", layout));
    uint32_t fourcc = layout == kManyTracksManyCodecs ? 0 : c.reader.u32();
    std::array<Part, media::kMaxTracks> parts;
    size_t count = 0;
    Parsed all = nothing("a track too many");
    std::optional<base::Error> defect;
    do {
        if (layout == kManyTracksManyCodecs) fourcc = c.reader.u32();
        const int id = c.reader.u8();
        const size_t size = layout == kOneTrack ? c.reader.left() : c.reader.u24();
        if (!c.reader.ok() || size > c.reader.left()) {
            return fail(Code::kProtocol,
                        fmt::format("track {} runs past the end of a body of {} bytes", id, c.body.size()));
        }
        if (id >= media::kMaxTracks) dropped_[index_of_kind(frame.kind)].set(static_cast<size_t>(id));
        const Part part{id, fourcc, c.body.size() - c.reader.left(), size};
        const bool full = count == parts.size();
        if (!full) ++count;
        if (!full || id == 0) parts[count - 1] = part;
        if (id == 0) std::swap(parts[0], parts[count - 1]);
        c.reader.skip(size);
    } while (c.reader.left() > 0);
    for (const Part& part : std::span(parts).first(count)) {
        Frame of_track = frame;
        c.fourcc = part.fourcc;
        c.narrow(part.from, part.size);
        auto parsed = one_track(c, of_track, part.id);
        if (!parsed && !defect) defect = std::move(parsed.error());
        if (!parsed || part.id >= media::kMaxTracks) continue;
        if (!parsed->frame) {
            all.nothing = parsed->nothing;
        } else if (!all.frame) {
            all.frame = std::move(parsed->frame);
        } else {
            all.more.push_back(*std::move(parsed->frame));
        }
    }
    if (!all.frame && defect) return std::unexpected(*std::move(defect));
    if (all.frame) all.nothing = {};
    return all;
}

namespace {

// Commands of a publisher to the server concerning metadata; they are never forwarded.
bool is_frame_command(const amf::Value& name) {
    return name.string_or({}) == "@setDataFrame" || name.string_or({}) == "@clearDataFrame";
}

}  // namespace

Result<Parsed> BodyParser::data(const Slice& body, uint32_t timestamp, bool amf3) {
    Slice values = amf3 && !body.empty() && body[0] == 0 ? body.sub(1) : body;
    if (values.empty()) return fail(Code::kProtocol, "data message of 0 bytes");
    base::ByteReader reader(values);
    amf::Value name = TRY(amf::decode_amf0(reader), "the name of a data message");
    if (name.string_or({}) == "@clearDataFrame") return nothing("@clearDataFrame");
    if (name.string_or({}) == "@setDataFrame") {
        values = values.sub(values.size() - reader.left());
        if (values.empty()) return nothing("@setDataFrame without data");
        name = TRY(amf::decode_amf0(reader), "the name of a data message");
        if (is_frame_command(name)) return nothing("a command within @setDataFrame");
    }
    if (!name.is_string()) return fail(Code::kProtocol, "data message without a name");
    TRY(amf::decode_amf0_all(reader), fmt::format("data message '{}'", name.string_or({}).substr(0, 64)));
    Frame frame;
    frame.kind = Kind::kData;
    frame.codec = Codec::kAmf0;
    frame.sequence_header = name.string_or({}) == kOnMetaData;
    frame.payload = std::move(values);
    set_time(frame, timestamp);
    return published(std::move(frame));
}

}  // namespace flv
