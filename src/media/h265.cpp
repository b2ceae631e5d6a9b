#include "media/h265.h"

#include <fmt/format.h>

#include "base/bits.h"
#include "base/bytes.h"
#include "media/h265_timing.h"
#include "media/nalu.h"

namespace media {

using base::BitReader;
using base::ByteReader;
using base::Code;
using base::fail;
using base::Result;

namespace {

Result<void> read_array(ByteReader& r, HevcConfig& config) {
    uint8_t type = r.u8() & 0x3f;
    int count = r.u16();
    if (!r.ok()) return fail(Code::kProtocol, "HEVC configuration: too short");
    for (int i = 0; i < count; ++i) {
        auto unit = r.bytes(r.u16());
        if (!r.ok()) return fail(Code::kProtocol, "HEVC configuration: a parameter set runs past the end");
        if (unit.size() < h265::kHeaderSize) continue;  // no NAL unit
        if (type == h265::kVps) config.vps.push_back(unit);
        if (type == h265::kSps) config.sps.push_back(unit);
        if (type == h265::kPps) config.pps.push_back(unit);
    }
    return {};
}

uint64_t bits48(BitReader& b) {
    uint64_t high = b.bits(16);
    return high << 32 | b.bits(32);
}

HevcProfile read_profile_tier_level(BitReader& b, int layers) {
    HevcProfile p;
    p.space_tier_profile = static_cast<uint8_t>(b.bits(8));
    p.compatibility = b.bits(32);
    p.constraints = bits48(b);
    p.level_idc = static_cast<uint8_t>(b.bits(8));
    if (layers <= 1) return p;
    uint32_t flags = b.bits(16);  // two bits for each of eight layers
    for (int i = 0; i < layers - 1; ++i) {
        if (flags >> (15 - 2 * i) & 1) b.skip(88);
        if (flags >> (14 - 2 * i) & 1) b.skip(8);
    }
    return p;
}

Result<void> read_size(BitReader& b, HevcSps& sps) {
    uint64_t chroma = b.ue();
    bool separate = chroma == 3 && b.bit();
    uint64_t width = b.ue();
    uint64_t height = b.ue();
    uint64_t crop_x = 0;
    uint64_t crop_y = 0;
    if (b.bit()) {
        uint64_t unit_x = !separate && (chroma == 1 || chroma == 2) ? 2 : 1;
        uint64_t unit_y = !separate && chroma == 1 ? 2 : 1;
        crop_x = b.ue();
        crop_x = (crop_x + b.ue()) * unit_x;
        crop_y = b.ue();
        crop_y = (crop_y + b.ue()) * unit_y;
    }
    uint32_t luma = b.ue();
    uint32_t chroma_depth = b.ue();
    if (!b.ok()) return fail(Code::kProtocol, "HEVC SPS: too short");
    if (chroma > 3 || luma > 8 || chroma_depth > 8) return fail(Code::kProtocol, "HEVC SPS: unknown sample format");
    if (crop_x >= width || crop_y >= height || width - crop_x > 16384 || height - crop_y > 16384) {
        return fail(Code::kProtocol, fmt::format("HEVC SPS: {}x{} cropped by {}x{}", width, height, crop_x, crop_y));
    }
    sps.chroma_format_idc = static_cast<uint8_t>(chroma);
    sps.bit_depth_luma = static_cast<int>(luma) + 8;
    sps.bit_depth_chroma = static_cast<int>(chroma_depth) + 8;
    sps.width = static_cast<int>(width - crop_x);
    sps.height = static_cast<int>(height - crop_y);
    return {};
}

// sps_max_num_reorder_pics of the highest temporal layer, and what follows.
void read_reordering(BitReader& b, HevcSps& sps) {
    constexpr uint32_t kMaxFrames = 16;
    const uint32_t order_bits = b.ue() + 4;
    const int count = b.bit() ? sps.temporal_layers : 1;
    uint32_t frames = 0;
    for (int i = 0; i < count; ++i) {
        b.ue();
        frames = b.ue();
        b.ue();
    }
    if (!b.ok() || frames > kMaxFrames || order_bits > 16) return;
    sps.reordered_frames = static_cast<int>(frames);
    sps.frame_duration = read_hevc_frame_duration(b, static_cast<int>(order_bits));
}

}  // namespace

Result<HevcConfig> parse_hevc_config(std::span<const uint8_t> record) {
    ByteReader r(record);
    HevcConfig config;
    uint8_t version = r.u8();
    config.profile.space_tier_profile = r.u8();
    config.profile.compatibility = r.u32();
    config.profile.constraints = static_cast<uint64_t>(r.u16()) << 32;
    config.profile.constraints |= r.u32();
    config.profile.level_idc = r.u8();
    r.skip(8);  // segmentation, parallelism, chroma format, bit depths, frame rate: taken from the SPS
    config.nalu_length_size = (r.u8() & 3) + 1;
    int arrays = r.u8();
    if (!r.ok()) return fail(Code::kProtocol, fmt::format("HEVC configuration of {} bytes", record.size()));
    // Version 0 predates the final standard, and some encoders still write it.
    if (version > 1) return fail(Code::kProtocol, fmt::format("HEVC configuration of version {}", version));
    if (config.nalu_length_size == 3) return fail(Code::kProtocol, "HEVC configuration: length prefixes of 3 bytes");
    for (int i = 0; i < arrays; ++i) TRY(read_array(r, config));
    return config;
}

Result<HevcSps> parse_hevc_sps(std::span<const uint8_t> nalu) {
    if (nalu.size() < 4 || h265::nalu_type(nalu) != h265::kSps) return fail(Code::kProtocol, "no HEVC SPS");
    std::vector<uint8_t> rbsp = remove_emulation_prevention(nalu.subspan(2), kMaxSpsBytes);
    BitReader b(rbsp);
    HevcSps sps;
    b.bits(4);  // sps_video_parameter_set_id
    sps.temporal_layers = static_cast<int>(b.bits(3)) + 1;
    sps.temporal_id_nesting = b.bit();
    if (sps.temporal_layers > 7) return fail(Code::kProtocol, "HEVC SPS: eight temporal layers");
    sps.profile = read_profile_tier_level(b, sps.temporal_layers);
    b.ue();  // sps_seq_parameter_set_id
    TRY(read_size(b, sps));
    read_reordering(b, sps);
    return sps;
}

Result<base::Slice> make_hevc_config(std::span<const uint8_t> vps, std::span<const uint8_t> sps,
                                     std::span<const uint8_t> pps) {
    HevcSps info = TRY(parse_hevc_sps(sps));
    if (vps.size() < h265::kHeaderSize || pps.size() < h265::kHeaderSize || vps.size() > 0xffff ||
        sps.size() > 0xffff || pps.size() > 0xffff) {
        return fail(Code::kProtocol, fmt::format("a VPS of {} bytes, a PPS of {}", vps.size(), pps.size()));
    }
    std::vector<uint8_t> out;
    base::ByteWriter w(out);
    w.u8(1);
    w.u8(info.profile.space_tier_profile);
    w.u32(info.profile.compatibility);
    w.u16(static_cast<uint16_t>(info.profile.constraints >> 32));
    w.u32(static_cast<uint32_t>(info.profile.constraints));
    w.u8(info.profile.level_idc);
    w.u16(0xf000);  // min_spatial_segmentation_idc 0
    w.u8(0xfc);     // parallelismType 0: not known
    w.u8(static_cast<uint8_t>(0xfc | info.chroma_format_idc));
    w.u8(static_cast<uint8_t>(0xf8 | (info.bit_depth_luma - 8)));
    w.u8(static_cast<uint8_t>(0xf8 | (info.bit_depth_chroma - 8)));
    w.u16(0);  // avgFrameRate: not known
    w.u8(static_cast<uint8_t>(info.temporal_layers << 3 | info.temporal_id_nesting << 2 | 3));
    w.u8(3);
    for (auto unit : {vps, sps, pps}) {
        w.u8(0x80 | h265::nalu_type(unit));
        w.u16(1);
        w.u16(static_cast<uint16_t>(unit.size()));
        w.bytes(unit);
    }
    return base::Slice::copy(out);
}

std::string_view hevc_profile_name(uint8_t profile_idc) {
    switch (profile_idc) {
        case 1:
            return "Main";
        case 2:
            return "Main 10";
        case 3:
            return "Main Still Picture";
        case 4:
            return "Rext";
        case 9:
            return "SCC";
        default:
            return "";
    }
}

std::string hevc_level_name(uint8_t level_idc) {
    if (level_idc == 0) return "";
    int tenths = level_idc / 3;
    return tenths % 10 ? fmt::format("{}.{}", tenths / 10, tenths % 10) : fmt::format("{}", tenths / 10);
}

}  // namespace media
