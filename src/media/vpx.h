#pragma once
// VP9 and VP8: the VPCodecConfigurationRecord (VP Codec ISO Media File Format Binding 1.0), with or without the full
// box's version and flags before it, and the size in a key frame's header (VP9 Bitstream 6.2; RFC 6386, 9.1).

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/slice.h"

namespace media {

struct VpConfig {
    uint8_t profile = 0;
    uint8_t level = 0;  // 10 times the level, 0 when not known
    int bit_depth = 8;
};

struct VpFrame {
    bool keyframe = false;
    uint8_t profile = 0;
    int width = 0;  // pixels; only of a key frame
    int height = 0;
    int bit_depth = 8;            // VP9
    uint8_t color_space = 0;      // VP9: 7 is RGB
    bool full_range = false;      // VP9
    uint8_t chroma_sampling = 1;  // VP9, as in the record: 1 is 4:2:0, 2 4:2:2, 3 4:4:4
};

base::Result<VpConfig> parse_vp_config(std::span<const uint8_t> record);
base::Result<VpFrame> parse_vp9_frame(std::span<const uint8_t> frame);
base::Result<VpFrame> parse_vp8_frame(std::span<const uint8_t> frame);

// Builds the record in its full box, from a key frame's header; the level is the lowest that allows its size.
base::Result<base::Slice> make_vp9_config(std::span<const uint8_t> keyframe);

std::string vp9_level_name(uint8_t level);  // "3.1"; empty when not known

}  // namespace media
