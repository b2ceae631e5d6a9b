#include "protocol/flv/body.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "media/aac.h"
#include "media/audio_headers.h"
#include "media/track.h"
#include "protocol/amf/amf0.h"
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

Parsed published(Frame&& frame) { return {std::move(frame), {}, 0}; }
Parsed nothing(std::string_view reason) { return {std::nullopt, reason, 0}; }

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
    if (auto codec = media::codec_from_fourcc(kind, fourcc)) return *codec;
    return fail(Code::kProtocol, fmt::format("{} codec '{}' is not supported", kind == Kind::kVideo ? "video" : "audio",
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
    uint32_t dropped = 0;
};

// The duration by its samples; 0 when it is not known.
Time BodyParser::audio_duration(const Frame& frame) {
    if (frame.codec != audio_codec_) [[unlikely]]
        note_audio(frame);
    if (frame.codec == Codec::kAac) return aac_duration_;
    if (audio_rate_ <= 0) return Time(0);
    return media::from_ticks(media::audio_frame_samples(frame.codec, frame.payload), audio_rate_);
}

// A sequence header, or the first frame of another codec.
void BodyParser::note_audio(const Frame& frame) {
    audio_codec_ = frame.codec;
    audio_rate_ = 0;
    aac_duration_ = Time(0);
    if (frame.codec == Codec::kOpus) {
        audio_rate_ = 48'000;
    } else if (frame.codec != Codec::kAac) {
        if (auto info = media::audio_info(frame)) audio_rate_ = info->sample_rate;
    } else if (auto config = media::parse_aac_config(frame.payload); frame.sequence_header && config) {
        if (config->core_sample_rate > 0)
            aac_duration_ = media::from_ticks(config->samples_per_frame, config->core_sample_rate);
    }
}

void BodyParser::set_time(Frame& frame, uint32_t timestamp) {
    if (frame.sequence_header || frame.kind == Kind::kData) {
        if (frame.kind == Kind::kAudio) note_audio(frame);
        frame.dts = timestamps_.of_companion(timestamp);
        return;
    }
    frame.dts = timestamps_.of_frame(frame.kind, timestamp);
    if (frame.kind == Kind::kAudio) frame.dts = audio_clock_.next(frame.dts, audio_duration(frame));
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
    if (body.empty()) return fail(Code::kProtocol, "FLV video body of 0 bytes");
    Frame frame;
    frame.kind = Kind::kVideo;
    Cursor c(body);
    bool enhanced = body[0] & 0x80;
    auto result = enhanced ? enhanced_video(c, frame) : legacy_video(c, frame);
    dropped_tracks_ += c.dropped;
    if (!result) return result;
    result->dropped_tracks = c.dropped;
    if (result->frame) set_time(*result->frame, timestamp);
    return result;
}

// Section E.4.3.1.
Result<Parsed> BodyParser::legacy_video(Cursor& c, Frame& frame) {
    uint8_t first = c.reader.u8();
    uint8_t type = first >> 4;
    TRY(set_frame_type(type, frame));
    if (type == kCommand) return nothing("a video command");
    auto codec = media::codec_from_flv_id(Kind::kVideo, first & 15);
    if (!codec) return fail(Code::kProtocol, fmt::format("FLV video codec {} is not supported", first & 15));
    frame.codec = *codec;
    serves(Kind::kVideo, 0);
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
    video_codec_ = frame.codec;
    nalu_length_size_ = info.nalu_length_size;
    return published(std::move(frame));
}

Result<Parsed> BodyParser::coded_video(Cursor& c, Frame& frame) {
    frame.payload = c.payload();
    if (frame.payload.empty()) return nothing("a video frame without payload");
    if (frame.codec == Codec::kH264 || frame.codec == Codec::kHevc) {
        if (frame.codec != video_codec_) return nothing("a video frame before its sequence header");
        TRY(media::check_length_prefixes(frame.payload, nalu_length_size_), media::codec_info(frame.codec).name);
    }
    return published(std::move(frame));
}

// ExVideoTagHeader and the optional elements between it and the FourCC.
Result<Parsed> BodyParser::enhanced_video(Cursor& c, Frame& frame) {
    uint8_t first = c.reader.u8();
    uint8_t type = first >> 4 & 7;
    c.packet_type = first & 15;
    TRY(set_frame_type(type, frame));
    TRY(skip_modifiers(c, kVideoModEx));
    if (type == kCommand && c.packet_type != kVideoMetadata) return nothing("a video command");
    bool served = TRY(select_track(c, Kind::kVideo, c.packet_type == kVideoMultitrack));
    if (!served) return nothing("another video track");
    frame.codec = TRY(codec_of_fourcc(Kind::kVideo, c.fourcc));
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
    if (body.empty()) return fail(Code::kProtocol, "FLV audio body of 0 bytes");
    Frame frame;
    frame.kind = Kind::kAudio;
    Cursor c(body);
    bool enhanced = body[0] >> 4 == 9;
    auto result = enhanced ? enhanced_audio(c, frame) : legacy_audio(c, frame);
    dropped_tracks_ += c.dropped;
    if (!result) return result;
    result->dropped_tracks = c.dropped;
    if (result->frame) set_time(*result->frame, timestamp);
    return result;
}

// Section E.4.2.1.
Result<Parsed> BodyParser::legacy_audio(Cursor& c, Frame& frame) {
    frame.flv_sound = c.reader.u8();
    auto codec = media::codec_from_flv_id(Kind::kAudio, frame.flv_sound >> 4);
    if (!codec) return fail(Code::kProtocol, fmt::format("FLV sound format {} is not supported", frame.flv_sound >> 4));
    frame.codec = *codec;
    serves(Kind::kAudio, 0);
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

// ExAudioTagHeader and the optional elements between it and the FourCC.
Result<Parsed> BodyParser::enhanced_audio(Cursor& c, Frame& frame) {
    c.packet_type = c.reader.u8() & 15;
    TRY(skip_modifiers(c, kAudioModEx));
    bool served = TRY(select_track(c, Kind::kAudio, c.packet_type == kAudioMultitrack));
    if (!served) return nothing("another audio track");
    frame.codec = TRY(codec_of_fourcc(Kind::kAudio, c.fourcc));
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

// Whether a track is the selected one: the first one seen, or track 0 once it is seen. A body without track ids is
// track 0.
bool BodyParser::serves(Kind kind, int track) {
    int& served = served_track_[kind == Kind::kAudio];
    if (track == 0 || served < 0) served = track;
    return served == track;
}

// Reads up to the payload of the selected track and restricts the cursor to it. False when the body does not contain
// that track.
Result<bool> BodyParser::select_track(Cursor& c, Kind kind, bool multitrack) {
    if (!multitrack) {
        c.fourcc = c.reader.u32();
        if (!c.reader.ok()) return truncated(kind, c.body);
        return serves(kind, 0);
    }
    uint8_t types = c.reader.u8();
    uint8_t layout = types >> 4;
    c.packet_type = types & 15;
    if (layout > kManyTracksManyCodecs) return fail(Code::kProtocol, fmt::format("multitrack type {}", layout));
    uint32_t fourcc = layout == kManyTracksManyCodecs ? 0 : c.reader.u32();
    size_t from = 0;
    size_t found_size = 0;
    do {
        if (layout == kManyTracksManyCodecs) fourcc = c.reader.u32();
        int track = c.reader.u8();
        size_t size = layout == kOneTrack ? c.reader.left() : c.reader.u24();
        if (!c.reader.ok() || size > c.reader.left()) {
            return fail(Code::kProtocol,
                        fmt::format("track {} runs past the end of a body of {} bytes", track, c.body.size()));
        }
        if (serves(kind, track)) {
            if (from) ++c.dropped;  // another track of this body was selected before
            from = c.body.size() - c.reader.left();
            found_size = size;
            c.fourcc = fourcc;
        } else {
            ++c.dropped;
        }
        c.reader.skip(size);
    } while (c.reader.left() > 0);
    if (from) c.narrow(from, found_size);
    return from != 0;
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
