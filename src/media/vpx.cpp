#include "media/vpx.h"

#include <fmt/format.h>

#include "base/bits.h"
#include "base/bytes.h"

namespace media {

using base::BitReader;
using base::ByteReader;
using base::Code;
using base::fail;
using base::Result;

Result<VpConfig> parse_vp_config(std::span<const uint8_t> record) {
    ByteReader r(record);
    // A box's version 1 and flags 0 cannot be the beginning of a record, because there is no level 0.
    if (record.size() >= 12 && record[0] == 1 && record[1] == 0 && record[2] == 0 && record[3] == 0) r.skip(4);
    VpConfig config;
    config.profile = r.u8();
    config.level = r.u8();
    config.bit_depth = r.u8() >> 4;
    r.skip(3);  // colours
    r.skip(r.u16());
    if (!r.ok()) return fail(Code::kProtocol, fmt::format("VP configuration of {} bytes", record.size()));
    if (config.profile > 3) return fail(Code::kProtocol, fmt::format("VP configuration of profile {}", config.profile));
    return config;
}

namespace {

constexpr uint32_t kColorSpaceRgb = 7;

// color_config (6.2.2)
void read_colors(BitReader& b, VpFrame& frame) {
    frame.bit_depth = frame.profile < 2 ? 8 : b.bit() ? 12 : 10;
    frame.color_space = static_cast<uint8_t>(b.bits(3));
    bool odd = frame.profile & 1;
    if (frame.color_space == kColorSpaceRgb) {
        frame.full_range = true;
        frame.chroma_sampling = 3;
        if (odd) b.bit();
        return;
    }
    frame.full_range = b.bit();
    if (!odd) return;
    uint32_t sub = b.bits(3) >> 1;  // horizontally, vertically, reserved
    frame.chroma_sampling = sub == 0 ? 3 : sub == 2 ? 2 : 1;
}

// Annex A, by the frame size only.
uint8_t least_level(int64_t pixels) {
    constexpr struct {
        int64_t pixels;
        uint8_t level;
    } kLevels[] = {{36'864, 10},  {73'728, 11},  {122'880, 20},   {245'760, 21},
                   {552'960, 30}, {983'040, 31}, {2'228'224, 40}, {8'912'896, 50}};
    for (const auto& row : kLevels)
        if (pixels <= row.pixels) return row.level;
    return 60;
}

}  // namespace

Result<VpFrame> parse_vp9_frame(std::span<const uint8_t> data) {
    BitReader b(data);
    VpFrame frame;
    if (b.bits(2) != 2) return fail(Code::kProtocol, "VP9 frame without its marker");
    uint32_t low = b.bit();
    frame.profile = static_cast<uint8_t>(b.bit() << 1 | low);
    if (frame.profile == 3) b.bit();
    bool shows_existing = b.bit();
    if (shows_existing) return frame;
    frame.keyframe = b.bit() == 0;
    b.bits(2);  // show_frame, error_resilient_mode
    if (frame.keyframe) {
        if (b.bits(24) != 0x498342) return fail(Code::kProtocol, "VP9 key frame without its sync code");
        read_colors(b, frame);
        frame.width = static_cast<int>(b.bits(16)) + 1;
        frame.height = static_cast<int>(b.bits(16)) + 1;
    }
    if (!b.ok()) return fail(Code::kProtocol, "VP9 frame: too short");
    return frame;
}

Result<base::Slice> make_vp9_config(std::span<const uint8_t> keyframe) {
    auto frame = TRY(parse_vp9_frame(keyframe));
    if (!frame.keyframe) return fail(Code::kProtocol, "VP9: no key frame");
    std::vector<uint8_t> out;
    base::ByteWriter w(out);
    w.u32(0x01000000);  // version and flags
    w.u8(frame.profile);
    w.u8(least_level(static_cast<int64_t>(frame.width) * frame.height));
    w.u8(static_cast<uint8_t>(frame.bit_depth << 4 | frame.chroma_sampling << 1 | frame.full_range));
    // Primaries, transfer and matrix: BT.709, RGB (sRGB, identity), otherwise unspecified.
    uint8_t rgb = frame.color_space == kColorSpaceRgb, bt709 = frame.color_space == 2;
    w.u8(rgb || bt709 ? 1 : 2);
    w.u8(rgb ? 13 : bt709 ? 1 : 2);
    w.u8(rgb ? 0 : bt709 ? 1 : 2);
    w.u16(0);
    return base::Slice::copy(out);
}

Result<VpFrame> parse_vp8_frame(std::span<const uint8_t> data) {
    if (data.size() < 3) return fail(Code::kProtocol, "VP8 frame: too short");
    VpFrame frame;
    frame.keyframe = !(data[0] & 1);
    frame.profile = data[0] >> 1 & 7;
    if (!frame.keyframe) return frame;
    if (data.size() < 10 || data[3] != 0x9d || data[4] != 0x01 || data[5] != 0x2a) {
        return fail(Code::kProtocol, "VP8 key frame without its start code");
    }
    frame.width = (data[6] | data[7] << 8) & 0x3fff;
    frame.height = (data[8] | data[9] << 8) & 0x3fff;
    return frame;
}

std::string vp9_level_name(uint8_t level) {
    if (level < 10) return "";
    return level % 10 ? fmt::format("{}.{}", level / 10, level % 10) : fmt::format("{}", level / 10);
}

}  // namespace media
