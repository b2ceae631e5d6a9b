#include "media/h264.h"

#include <fmt/format.h>

#include "base/bits.h"
#include "base/bytes.h"
#include "media/nalu.h"
#include "media/vui.h"

namespace media {

using base::BitReader;
using base::ByteReader;
using base::Code;
using base::fail;
using base::Result;

namespace {

Result<void> read_units(ByteReader& r, int count, std::vector<std::span<const uint8_t>>& units) {
    for (int i = 0; i < count; ++i) {
        auto unit = r.bytes(r.u16());
        if (!r.ok()) return fail(Code::kProtocol, "AVC configuration: a parameter set runs past the end");
        if (!unit.empty()) units.push_back(unit);
    }
    return {};
}

bool has_chroma_format(uint8_t profile_idc) {
    switch (profile_idc) {
        case 100:
        case 110:
        case 122:
        case 244:
        case 44:
        case 83:
        case 86:
        case 118:
        case 128:
        case 138:
        case 139:
        case 134:
        case 135:
            return true;
        default:
            return false;
    }
}

// 7.3.2.1.1.1
void skip_scaling_list(BitReader& b, int size) {
    int last = 8;
    int next = 8;
    for (int i = 0; i < size && b.ok(); ++i) {
        if (next != 0) next = (last + b.se() % 256 + 256) % 256;
        if (next != 0) last = next;
    }
}

// Parses the fields between the id and the frame number that only the high profiles have; returns chroma_format_idc, 0
// for separate planes (ChromaArrayType).
uint32_t read_chroma_format(BitReader& b) {
    uint32_t chroma = b.ue();
    bool separate = chroma == 3 && b.bit();
    b.ue();  // bit_depth_luma_minus8
    b.ue();  // bit_depth_chroma_minus8
    b.bit();
    if (b.bit()) {
        for (int i = 0; i < (chroma == 3 ? 12 : 8); ++i) {
            if (b.bit()) skip_scaling_list(b, i < 6 ? 16 : 64);
        }
    }
    return separate ? 0 : chroma;
}

// Returns pic_order_cnt_type.
uint32_t skip_picture_order(BitReader& b) {
    b.ue();  // log2_max_frame_num_minus4
    uint32_t type = b.ue();
    if (type == 0) {
        b.ue();
    } else if (type == 1) {
        b.bit();
        b.se();
        b.se();
        uint32_t count = b.ue();
        for (uint32_t i = 0; i < count && b.ok(); ++i) b.se();
    }
    return type;
}

// hrd_parameters (E.1.2).
void skip_hrd(BitReader& b) {
    uint32_t last = b.ue();
    b.skip(8);
    for (uint32_t i = 0; i <= last && b.ok(); ++i) {
        b.ue();
        b.ue();
        b.bit();
    }
    b.skip(20);
}

// vui_parameters (E.1.1). A malformed one declares nothing.
void read_vui(BitReader& b, H264Sps& sps) {
    constexpr uint32_t kMaxFrames = 16;
    skip_vui_colours(b);
    if (b.bit()) {  // ticks are those of fields
        if (const Time duration = read_vui_duration(b, 2); duration != Time(0)) sps.frame_duration = duration;
        b.bit();
    }
    bool nal_hrd = b.bit();
    if (nal_hrd) skip_hrd(b);
    bool vcl_hrd = b.bit();
    if (vcl_hrd) skip_hrd(b);
    if (nal_hrd || vcl_hrd) b.bit();
    b.bit();               // pic_struct_present_flag
    if (!b.bit()) return;  // bitstream_restriction_flag
    b.bit();
    for (int i = 0; i < 4; ++i) b.ue();
    uint32_t frames = b.ue();
    if (b.ok() && frames <= kMaxFrames) sps.reordered_frames = static_cast<int>(frames);
}

// Converts macroblock counts and cropping into pixels.
Result<void> read_size(BitReader& b, uint32_t chroma, H264Sps& sps) {
    uint64_t width = (static_cast<uint64_t>(b.ue()) + 1) * 16;
    uint64_t height = (static_cast<uint64_t>(b.ue()) + 1) * 16;
    sps.interlaced = !b.bit();
    if (sps.interlaced) {
        height *= 2;
        b.bit();  // mb_adaptive_frame_field_flag
    }
    b.bit();  // direct_8x8_inference_flag
    uint64_t crop_x = 0;
    uint64_t crop_y = 0;
    if (b.bit()) {
        uint64_t unit_x = chroma == 1 || chroma == 2 ? 2 : 1;
        uint64_t unit_y = (chroma == 1 ? 2 : 1) * (sps.interlaced ? 2 : 1);
        crop_x = b.ue();
        crop_x = (crop_x + b.ue()) * unit_x;
        crop_y = b.ue();
        crop_y = (crop_y + b.ue()) * unit_y;
    }
    if (!b.ok()) return fail(Code::kProtocol, "H.264 SPS: too short");
    if (crop_x >= width || crop_y >= height || width - crop_x > 16384 || height - crop_y > 16384) {
        return fail(Code::kProtocol, fmt::format("H.264 SPS: {}x{} cropped by {}x{}", width, height, crop_x, crop_y));
    }
    sps.width = static_cast<int>(width - crop_x);
    sps.height = static_cast<int>(height - crop_y);
    return {};
}

}  // namespace

Result<AvcConfig> parse_avc_config(std::span<const uint8_t> record) {
    ByteReader r(record);
    AvcConfig config;
    uint8_t version = r.u8();
    config.profile_idc = r.u8();
    config.compatibility = r.u8();
    config.level_idc = r.u8();
    config.nalu_length_size = (r.u8() & 3) + 1;
    int sps_count = r.u8() & 0x1f;
    if (!r.ok()) return fail(Code::kProtocol, fmt::format("AVC configuration of {} bytes", record.size()));
    if (version != 1) return fail(Code::kProtocol, fmt::format("AVC configuration of version {}", version));
    if (config.nalu_length_size == 3) return fail(Code::kProtocol, "AVC configuration: length prefixes of 3 bytes");
    TRY(read_units(r, sps_count, config.sps));
    int pps_count = r.u8();
    if (!r.ok()) return fail(Code::kProtocol, "AVC configuration: too short");
    TRY(read_units(r, pps_count, config.pps));
    return config;
}

Result<H264Sps> parse_h264_sps(std::span<const uint8_t> nalu) {
    if (nalu.size() < 4 || h264::nalu_type(nalu) != h264::kSps) return fail(Code::kProtocol, "no H.264 SPS");
    std::vector<uint8_t> rbsp = remove_emulation_prevention(nalu.subspan(1), kMaxSpsBytes);
    BitReader b(rbsp);
    H264Sps sps;
    sps.profile_idc = static_cast<uint8_t>(b.bits(8));
    sps.constraints = static_cast<uint8_t>(b.bits(8));
    sps.level_idc = static_cast<uint8_t>(b.bits(8));
    b.ue();  // seq_parameter_set_id
    uint32_t chroma = 1;
    if (has_chroma_format(sps.profile_idc)) chroma = read_chroma_format(b);
    uint32_t order_type = skip_picture_order(b);
    b.ue();   // max_num_ref_frames
    b.bit();  // gaps_in_frame_num_value_allowed_flag
    TRY(read_size(b, chroma, sps));
    // Baseline has no B slices, and type 2 is the decoding order.
    if (sps.profile_idc == 66 || order_type == 2) sps.reordered_frames = 0;
    if (b.bit()) read_vui(b, sps);
    return sps;
}

Result<base::Slice> make_avc_config(std::span<const uint8_t> sps, std::span<const uint8_t> pps) {
    if (sps.size() < 4 || sps.size() > 0xffff || pps.empty() || pps.size() > 0xffff) {
        return fail(Code::kProtocol, fmt::format("an SPS of {} bytes, a PPS of {}", sps.size(), pps.size()));
    }
    TRY(parse_h264_sps(sps));
    std::vector<uint8_t> out;
    base::ByteWriter w(out);
    w.u8(1);
    w.bytes(sps.subspan(1, 3));
    w.u8(0xff);  // reserved bits, four bytes of length
    w.u8(0xe1);
    w.u16(static_cast<uint16_t>(sps.size()));
    w.bytes(sps);
    w.u8(1);
    w.u16(static_cast<uint16_t>(pps.size()));
    w.bytes(pps);
    if (has_chroma_format(sps[1])) {
        std::vector<uint8_t> rbsp = remove_emulation_prevention(sps.subspan(4), kMaxSpsBytes);
        BitReader b(rbsp);
        b.ue();
        uint32_t chroma = b.ue();
        if (chroma == 3) b.bit();
        uint32_t luma_depth = b.ue();
        uint32_t chroma_depth = b.ue();
        w.u8(static_cast<uint8_t>(0xfc | (chroma & 3)));
        w.u8(static_cast<uint8_t>(0xf8 | (luma_depth & 7)));
        w.u8(static_cast<uint8_t>(0xf8 | (chroma_depth & 7)));
        w.u8(0);
    }
    return base::Slice::copy(out);
}

std::string_view h264_profile_name(uint8_t profile_idc, uint8_t constraints) {
    switch (profile_idc) {
        case 66:
            return constraints & 0x40 ? "Constrained Baseline" : "Baseline";
        case 77:
            return "Main";
        case 88:
            return "Extended";
        case 100:
            return "High";
        case 110:
            return "High 10";
        case 122:
            return "High 4:2:2";
        case 244:
            return "High 4:4:4 Predictive";
        case 44:
            return "CAVLC 4:4:4 Intra";
        default:
            return "";
    }
}

std::string h264_level_name(uint8_t level_idc, uint8_t constraints) {
    if (level_idc == 0) return "";
    if (level_idc == 9 || (level_idc == 11 && constraints & 0x10)) return "1b";
    return level_idc % 10 ? fmt::format("{}.{}", level_idc / 10, level_idc % 10) : fmt::format("{}", level_idc / 10);
}

}  // namespace media
