#pragma once
// Constants of Enhanced RTMP (Veovera, v1 and v2) that the reader and the writer share.

#include <cstdint>
#include <string>

namespace flv {

enum VideoPacketType : uint8_t {
    kVideoSequenceStart = 0,
    kVideoCodedFrames = 1,
    kVideoSequenceEnd = 2,
    kVideoCodedFramesX = 3,  // without a composition time
    kVideoMetadata = 4,
    kVideoMpeg2TsSequenceStart = 5,
    kVideoMultitrack = 6,
    kVideoModEx = 7,
};

enum AudioPacketType : uint8_t {
    kAudioSequenceStart = 0,
    kAudioCodedFrames = 1,
    kAudioSequenceEnd = 2,
    kAudioMultichannelConfig = 4,
    kAudioMultitrack = 5,
    kAudioModEx = 7,
};

enum MultitrackType : uint8_t { kOneTrack = 0, kManyTracks = 1, kManyTracksManyCodecs = 2 };

// The sound format that marks an enhanced audio header.
inline constexpr uint8_t kExAudio = 9;

// The FourCC as text, "hvc1"; bytes that cannot be printed become '?'.
inline std::string fourcc_text(uint32_t fourcc) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) {
        char c = static_cast<char>(fourcc >> shift);
        text += c >= ' ' && c <= '~' ? c : '?';
    }
    return text;
}

}  // namespace flv
