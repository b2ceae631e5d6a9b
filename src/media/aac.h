#pragma once
// AAC's configuration: AudioSpecificConfig (ISO/IEC 14496-3, 1.6.2.1) with explicit SBR and PS signalling, hierarchical
// and backward compatible, a program_config_element's channels, and ADTS (1.A.2.2). It decodes nothing.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/slice.h"

namespace media {

struct AacConfig {
    uint8_t object_type = 2;       // of the core: 1 Main, 2 LC, 3 SSR, 4 LTP, ...
    int core_sample_rate = 0;      // Hz
    int channels = 0;              // of the core; parametric stereo makes two of one
    uint8_t channel_config = 0;    // 0: given by a program_config_element
    int samples_per_frame = 1024;  // of the core
    bool sbr = false;
    bool ps = false;
    int output_sample_rate = 0;  // Hz; with SBR, SBR's own rate
    size_t bits = 0;             // of the configuration, without the backward compatible signalling after it
    int output_channels() const { return ps && channels == 1 ? 2 : channels; }
};

base::Result<AacConfig> parse_aac_config(std::span<const uint8_t> config);
// The two bytes (five if the rate has no index) of a plain configuration: no SBR signalling.
base::Slice make_aac_config(uint8_t object_type, int sample_rate, uint8_t channel_config);
std::string_view aac_profile_name(const AacConfig& config);  // "LC", "HE", "HEv2" ...

inline constexpr size_t kAdtsHeaderSize = 7;
inline constexpr size_t kMaxAdtsFrame = 0x1fff;  // bytes, with the header

struct AdtsHeader {
    uint8_t object_type = 2;
    int sample_rate = 0;  // Hz
    uint8_t channel_config = 0;
    size_t header_size = 7;  // 9 with a CRC
    size_t frame_size = 0;   // bytes, with the header
    int raw_blocks = 1;
};

base::Result<AdtsHeader> parse_adts(std::span<const uint8_t> bytes);
// Writes the header of one raw frame. Object types above 4 are written as LC, rates without an index as the nearest
// one. raw_size is at most kMaxAdtsFrame - kAdtsHeaderSize: if it is larger, nothing is written and false returned.
bool put_adts_header(const AacConfig& config, size_t raw_size, uint8_t out[kAdtsHeaderSize]);

}  // namespace media
