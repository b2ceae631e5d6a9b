#pragma once
// The one table of codecs: everything that differs by codec and is asked for by name stands here.

#include <cstdint>
#include <optional>
#include <string_view>

namespace media {

enum class Kind : uint8_t { kVideo, kAudio, kData };

enum class Codec : uint8_t {
    kNone,
    // video
    kH264,
    kHevc,
    kAv1,
    kVp9,
    kVp8,
    kH263,
    kScreen,
    kVp6,
    // audio
    kAac,
    kMp3,
    kOpus,
    kFlac,
    kAc3,
    kEac3,
    kPcmAlaw,
    kPcmUlaw,
    kPcm,
    kSpeex,
    kNellymoser,
    // data
    kAmf0,
};

struct CodecInfo {
    Codec codec;
    Kind kind;
    std::string_view name;     // as the API shows it: H264 HEVC AV1 VP9 AAC MP3 Opus ...
    uint32_t fourcc;           // of enhanced RTMP, 0 when there is none
    int8_t flv_id;             // the FLV codec id or sound format, -1 when there is none
    bool has_sequence_header;  // a decoder needs its configuration before the first access unit
};

const CodecInfo& codec_info(Codec codec);
std::optional<Codec> codec_from_fourcc(Kind kind, uint32_t fourcc);
std::optional<Codec> codec_from_flv_id(Kind kind, int flv_id);

}  // namespace media
