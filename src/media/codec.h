#pragma once
// The one table of codecs: all per-codec properties that are looked up by codec.

#include <cstdint>
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
    kScreen2,
    kVp6,
    kVp6Alpha,
    // audio
    kAac,
    kMp3,
    kOpus,
    kFlac,
    kAc3,
    kEac3,
    kPcmAlaw,
    kPcmUlaw,
    kPcm,    // in the encoder's byte order
    kPcmLe,  // little endian
    kAdpcm,
    kSpeex,
    kNellymoser,
    // data
    kAmf0,
};

struct CodecInfo {
    Codec codec;
    Kind kind;
    std::string_view name;     // as the API shows it: H264 HEVC AV1 VP9 AAC MP3 Opus ...
    bool has_sequence_header;  // a decoder needs its configuration before the first access unit
};

// Four characters as a number, as MP4's boxes and Enhanced RTMP's codecs are named.
constexpr uint32_t fourcc(const char (&text)[5]) {
    auto at = [&](int i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[i])); };
    return at(0) << 24 | at(1) << 16 | at(2) << 8 | at(3);
}

// Every codec has a row; kNone's has an empty name.
const CodecInfo& codec_info(Codec codec);

}  // namespace media
