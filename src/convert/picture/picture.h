#pragma once
// A keyframe of H.264, HEVC, AV1, VP8 or VP9 as a JPEG picture (ISO/IEC 10918-1), by libavcodec and libswscale. It runs
// on the caller's thread, for up to some hundred ms, and may be any thread.
//
// What a frame may cost is bounded before it is decoded: its bytes, the pixels that its headers may claim, one thread.
// Frames that need others are not decoded, so of a stream that is refreshed gradually a part of the picture is missing.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "media/codec.h"

namespace convert {

struct Keyframe {
    media::Codec codec = media::Codec::kNone;
    std::vector<uint8_t> header{};   // the decoder's configuration; empty: the codec has none
    std::vector<uint8_t> payload{};  // one access unit, as of media::Frame
};

struct Picture {
    std::string jpeg;
    int width = 0;  // pixels
    int height = 0;
};

inline constexpr size_t kMaxKeyframeBytes = 8 * 1024 * 1024;
inline constexpr int64_t kMaxKeyframePixels = 4096 * 2304;

// With square pixels, at most max_width wide, never larger than the keyframe is. kNotFound: libavcodec or libswscale is
// missing or not of the version of this build, or it has no such decoder. kLimit: the keyframe is too large. kProtocol:
// it cannot be decoded.
base::Result<Picture> make_picture(const Keyframe& keyframe, int max_width);

}  // namespace convert
