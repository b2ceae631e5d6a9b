#pragma once
// HEVC's configuration: the HEVCDecoderConfigurationRecord (ISO/IEC 14496-15, 8.3.3.1) and the fields of a sequence
// parameter set that the server uses (ITU-T H.265, 7.3.2.2): profile, level, size, reordering, timing. It parses no
// PPS or slice.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/slice.h"
#include "media/time.h"

namespace media {

namespace h265 {
inline constexpr size_t kHeaderSize = 2;  // bytes of a NAL unit's header (7.3.1.2)
// 16 to 21 are random access points, 19 and 20 IDR pictures.
enum NaluType : uint8_t { kIdrWithRadl = 19, kIdr = 20, kCra = 21, kVps = 32, kSps = 33, kPps = 34, kAud = 35 };
inline uint8_t nalu_type(std::span<const uint8_t> nalu) { return nalu.empty() ? 0 : nalu[0] >> 1 & 0x3f; }
}  // namespace h265

// profile_tier_level's general part (7.3.3).
struct HevcProfile {
    uint8_t space_tier_profile = 0;  // two bits, one, five
    uint32_t compatibility = 0;
    uint64_t constraints = 0;  // 48 bits
    uint8_t level_idc = 0;     // 30 times the level
    uint8_t profile_idc() const { return space_tier_profile & 0x1f; }
    bool high_tier() const { return space_tier_profile & 0x20; }
};

// The spans point into the parsed bytes, which must outlive them.
struct HevcConfig {
    HevcProfile profile;
    int nalu_length_size = 4;  // 1, 2 or 4 bytes
    std::vector<std::span<const uint8_t>> vps;
    std::vector<std::span<const uint8_t>> sps;
    std::vector<std::span<const uint8_t>> pps;
};

struct HevcSps {
    HevcProfile profile;
    uint8_t chroma_format_idc = 1;
    int bit_depth_luma = 8;
    int bit_depth_chroma = 8;
    int temporal_layers = 1;
    // The most frames that precede a frame in decoding order and follow it in output order; nothing: malformed.
    std::optional<int> reordered_frames;
    Time frame_duration{};  // of the VUI's timing; 0: not declared
    bool temporal_id_nesting = false;
    int width = 0;  // pixels, after the conformance window
    int height = 0;
};

base::Result<HevcConfig> parse_hevc_config(std::span<const uint8_t> record);
// nalu: with its two header bytes, and with emulation prevention bytes.
base::Result<HevcSps> parse_hevc_sps(std::span<const uint8_t> nalu);
// Builds the record, with length prefixes of four bytes. An SPS that cannot be parsed is an error.
base::Result<base::Slice> make_hevc_config(std::span<const uint8_t> vps, std::span<const uint8_t> sps,
                                           std::span<const uint8_t> pps);

std::string_view hevc_profile_name(uint8_t profile_idc);  // empty when not known
std::string hevc_level_name(uint8_t level_idc);           // "3.1"

}  // namespace media
