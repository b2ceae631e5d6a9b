#pragma once
// H.264's configuration: the AVCDecoderConfigurationRecord (ISO/IEC 14496-15, 5.3.3) and the fields of a sequence
// parameter set that the server uses (ITU-T H.264, 7.3.2.1.1 and E.1.1): profile, level, size, reordering, timing. It
// parses no PPS or slice.

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

namespace h264 {
enum NaluType : uint8_t { kSlice = 1, kIdr = 5, kSei = 6, kSps = 7, kPps = 8, kAud = 9 };
inline uint8_t nalu_type(std::span<const uint8_t> nalu) { return nalu.empty() ? 0 : nalu[0] & 0x1f; }
}  // namespace h264

// The spans point into the parsed bytes, which must outlive them.
struct AvcConfig {
    uint8_t profile_idc = 0;
    uint8_t compatibility = 0;
    uint8_t level_idc = 0;
    int nalu_length_size = 4;  // 1, 2 or 4 bytes
    std::vector<std::span<const uint8_t>> sps;
    std::vector<std::span<const uint8_t>> pps;
};

struct H264Sps {
    uint8_t profile_idc = 0;
    uint8_t constraints = 0;  // constraint_set0_flag is the highest bit
    uint8_t level_idc = 0;
    int width = 0;  // pixels, after cropping
    int height = 0;
    bool interlaced = false;  // frame_mbs_only_flag is 0
    // The most frames that precede a frame in decoding order and follow it in output order; nothing: not declared.
    std::optional<int> reordered_frames;
    Time frame_duration{};  // of the VUI's timing; 0: not declared
};

base::Result<AvcConfig> parse_avc_config(std::span<const uint8_t> record);
// nalu: with its header byte, and with emulation prevention bytes.
base::Result<H264Sps> parse_h264_sps(std::span<const uint8_t> nalu);
// Builds the record, with length prefixes of four bytes. An SPS that cannot be parsed is an error.
base::Result<base::Slice> make_avc_config(std::span<const uint8_t> sps, std::span<const uint8_t> pps);

std::string_view h264_profile_name(uint8_t profile_idc, uint8_t constraints);  // empty when not known
std::string h264_level_name(uint8_t level_idc, uint8_t constraints = 0);       // "3.1", "1b"

}  // namespace media
