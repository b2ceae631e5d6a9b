#pragma once
// Properties of a stream's tracks, from their sequence headers and first frames: for the API, the FLV header and the
// muxers. Pure: no IO.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "media/frame.h"

namespace media {

struct VideoInfo {
    Codec codec = Codec::kNone;
    std::string profile;  // "High", "Main" ...; empty when not known
    std::string level;    // "3.1"; empty when not known
    int width = 0;        // pixels, 0 when not known
    int height = 0;
    int nalu_length_size = 4;  // bytes, H.264 and HEVC
};

struct AudioInfo {
    Codec codec = Codec::kNone;
    std::string profile;  // "LC", "HE" ...
    int sample_rate = 0;  // Hz
    int channels = 0;
};

// Parses a sequence header, or, for codecs without one (MP3, VP8 ...), any frame. A malformed one is an error. Of
// codecs whose frames say nothing of themselves (PCM, Speex ...) only the codec is known.
base::Result<VideoInfo> video_info(const Frame& frame);
base::Result<AudioInfo> audio_info(const Frame& frame);

}  // namespace media
