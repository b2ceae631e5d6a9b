#include "media/aac.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/bits.h"

namespace media {

using base::BitReader;
using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr int kRates[] = {96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350};
constexpr int kChannels[] = {0, 1, 2, 3, 4, 5, 6, 8, 0, 0, 0, 7, 8, 24, 8, 0};
constexpr uint32_t kSbr = 5;
constexpr uint32_t kPs = 29;
constexpr uint32_t kSbrSyncExtension = 0x2b7;
constexpr uint32_t kPsSyncExtension = 0x548;

uint32_t read_object_type(BitReader& b) {
    uint32_t type = b.bits(5);
    return type == 31 ? 32 + b.bits(6) : type;
}

// Hz; 0 for a reserved index.
int read_rate(BitReader& b) {
    uint32_t index = b.bits(4);
    if (index == 15) return static_cast<int>(b.bits(24));
    return index < std::size(kRates) ? kRates[index] : 0;
}

int rate_index(int rate) {
    for (size_t i = 0; i < std::size(kRates); ++i) {
        if (kRates[i] == rate) return static_cast<int>(i);
    }
    return -1;
}

// program_config_element (4.4.1.1): returns the number of channels, and skips the rest, its comment included.
int read_program_channels(BitReader& b) {
    b.skip(4 + 2 + 4);  // tag, object type, rate
    int elements[3];    // front, side, back
    for (int& n : elements) n = static_cast<int>(b.bits(4));
    int lfe = static_cast<int>(b.bits(2));
    int data = static_cast<int>(b.bits(3));
    int coupling = static_cast<int>(b.bits(4));
    for (int bits : {4, 4, 3}) {
        if (b.bit()) b.skip(static_cast<size_t>(bits));  // mixdowns
    }
    int channels = lfe;
    for (int n : elements) {
        for (int i = 0; i < n; ++i) {
            channels += b.bit() ? 2 : 1;
            b.skip(4);
        }
    }
    b.skip(static_cast<size_t>(lfe * 4 + data * 4 + coupling * 5));
    size_t used = b.bits_left() % 8;
    b.skip(used);  // byte alignment: the configuration ends on a byte
    b.skip(b.bits(8) * size_t{8});
    return channels;
}

bool has_ga_config(uint32_t type) {
    return (type >= 1 && type <= 4) || type == 6 || type == 7 || type == 17 || (type >= 19 && type <= 23);
}

// GASpecificConfig (4.4.1)
void read_ga_config(BitReader& b, uint32_t type, AacConfig& config) {
    if (b.bit()) config.samples_per_frame = 960;
    if (b.bit()) b.skip(14);  // coreCoderDelay
    bool extension = b.bit();
    if (config.channel_config == 0) config.channels = read_program_channels(b);
    if (type == 6 || type == 20) b.skip(3);
    if (extension) {
        if (type == 22) b.skip(16);
        if (type == 17 || type == 19 || type == 20 || type == 23) b.skip(3);
        b.skip(1);
    }
}

// The backward compatible signalling after the configuration.
void read_sync_extension(BitReader& b, AacConfig& config) {
    if (b.bits_left() < 16 || b.bits(11) != kSbrSyncExtension) return;
    if (read_object_type(b) != kSbr) return;
    if (!b.bit()) return;
    int rate = read_rate(b);
    if (!b.ok() || rate == 0) return;
    config.sbr = true;
    config.output_sample_rate = rate;
    if (b.bits_left() >= 12 && b.bits(11) == kPsSyncExtension) config.ps = b.bit();
}

}  // namespace

Result<AacConfig> parse_aac_config(std::span<const uint8_t> bytes) {
    BitReader b(bytes);
    AacConfig config;
    uint32_t type = read_object_type(b);
    config.core_sample_rate = read_rate(b);
    config.channel_config = static_cast<uint8_t>(b.bits(4));
    config.output_sample_rate = config.core_sample_rate;
    if (type == kSbr || type == kPs) {
        config.sbr = true;
        config.ps = type == kPs;
        config.output_sample_rate = read_rate(b);
        type = read_object_type(b);
    }
    config.object_type = static_cast<uint8_t>(type);
    config.channels = kChannels[config.channel_config];
    if (!b.ok()) return fail(Code::kProtocol, fmt::format("AAC configuration of {} bytes", bytes.size()));
    if (type == 0) return fail(Code::kProtocol, "AAC configuration: object type 0");
    if (config.core_sample_rate == 0 || config.output_sample_rate == 0) {
        return fail(Code::kProtocol, "AAC configuration: a reserved sample rate");
    }
    if (has_ga_config(type)) read_ga_config(b, type, config);
    config.bits = bytes.size() * 8 - b.bits_left();
    if (!has_ga_config(type)) return config;
    if (!b.ok()) return fail(Code::kProtocol, "AAC configuration: too short");
    if (!config.sbr) read_sync_extension(b, config);
    return config;
}

base::Slice make_aac_config(uint8_t object_type, int sample_rate, uint8_t channel_config) {
    int index = rate_index(sample_rate);
    uint64_t bits = static_cast<uint64_t>(object_type & 31) << 59;
    uint64_t channels = channel_config & 15;
    size_t size = 2;
    if (index >= 0) {
        bits |= static_cast<uint64_t>(index) << 55 | channels << 51;
    } else {
        bits |= uint64_t{15} << 55 | static_cast<uint64_t>(sample_rate & 0xffffff) << 31 | channels << 27;
        size = 5;
    }
    uint8_t out[5];
    for (size_t i = 0; i < size; ++i) out[i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
    return base::Slice::copy(std::span<const uint8_t>(out, size));
}

std::string_view aac_profile_name(const AacConfig& config) {
    if (config.ps) return "HEv2";
    if (config.sbr) return "HE";
    switch (config.object_type) {
        case 1:
            return "Main";
        case 2:
            return "LC";
        case 3:
            return "SSR";
        case 4:
            return "LTP";
        case 23:
            return "LD";
        case 39:
            return "ELD";
        case 42:
            return "xHE";
        default:
            return "";
    }
}

Result<AdtsHeader> parse_adts(std::span<const uint8_t> p) {
    if (p.size() < kAdtsHeaderSize) return fail(Code::kProtocol, "ADTS header: too short");
    if (p[0] != 0xff || (p[1] & 0xf6) != 0xf0) return fail(Code::kProtocol, "ADTS header without its sync word");
    AdtsHeader h;
    h.object_type = static_cast<uint8_t>((p[2] >> 6) + 1);
    unsigned index = p[2] >> 2 & 15;
    if (index >= std::size(kRates)) return fail(Code::kProtocol, "ADTS header: a reserved sample rate");
    h.sample_rate = kRates[index];
    h.channel_config = static_cast<uint8_t>((p[2] & 1) << 2 | p[3] >> 6);
    h.header_size = p[1] & 1 ? 7 : 9;
    h.frame_size = static_cast<size_t>((p[3] & 3) << 11 | p[4] << 3 | p[5] >> 5);
    h.raw_blocks = (p[6] & 3) + 1;
    if (h.frame_size < h.header_size) {
        return fail(Code::kProtocol, fmt::format("ADTS header: a frame of {} bytes", h.frame_size));
    }
    return h;
}

namespace {

// The index in kRates; of a rate that is not there the nearest one's.
unsigned nearest_rate(int rate) {
    if (auto same = std::ranges::find(kRates, rate); same != std::end(kRates))
        return static_cast<unsigned>(same - std::begin(kRates));
    auto distance = [rate](int other) { return std::abs(other - rate); };
    return static_cast<unsigned>(std::ranges::min_element(kRates, {}, distance) - std::begin(kRates));
}

}  // namespace

bool put_adts_header(const AacConfig& config, size_t raw_size, uint8_t out[kAdtsHeaderSize]) {
    size_t size = raw_size + kAdtsHeaderSize;
    if (raw_size > kMaxAdtsFrame || size > kMaxAdtsFrame) return false;
    unsigned profile = config.object_type >= 1 && config.object_type <= 4 ? config.object_type - 1u : 1;
    unsigned channels = config.channel_config & 7;
    out[0] = 0xff;
    out[1] = 0xf1;  // MPEG-4, no CRC
    out[2] = static_cast<uint8_t>(profile << 6 | nearest_rate(config.core_sample_rate) << 2 | channels >> 2);
    out[3] = static_cast<uint8_t>((channels & 3) << 6 | size >> 11);
    out[4] = static_cast<uint8_t>(size >> 3);
    out[5] = static_cast<uint8_t>((size & 7) << 5 | 0x1f);
    out[6] = 0xfc;
    return true;
}

}  // namespace media
