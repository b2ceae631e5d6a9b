#include "media/av1.h"

#include <fmt/format.h>

#include "base/bits.h"
#include "base/bytes.h"

namespace media {

using base::BitReader;
using base::ByteReader;
using base::Code;
using base::fail;
using base::Result;

namespace {

// 4.10.3
void skip_uvlc(BitReader& b) {
    int zeros = 0;
    while (b.ok() && !b.bit()) ++zeros;
    if (zeros < 32) b.skip(static_cast<size_t>(zeros));
}

// 4.10.5; at most 8 bytes.
uint64_t leb128(ByteReader& r) {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) {
        uint8_t byte = r.u8();
        value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80)) break;
    }
    return value;
}

struct DecoderModel {
    bool present = false;
    int delay_bits = 0;
};

// timing_info and decoder_model_info (5.5.3, 5.5.4)
DecoderModel skip_timing(BitReader& b) {
    DecoderModel model;
    if (!b.bit()) return model;
    b.skip(64);
    if (b.bit()) skip_uvlc(b);
    model.present = b.bit();
    if (model.present) {
        model.delay_bits = static_cast<int>(b.bits(5)) + 1;
        b.skip(42);
    }
    return model;
}

// The levels of the operating points; only the first one's is used.
void read_operating_points(BitReader& b, Av1Sequence& s) {
    DecoderModel model = skip_timing(b);
    bool display_delay = b.bit();
    int count = static_cast<int>(b.bits(5)) + 1;
    for (int i = 0; i < count && b.ok(); ++i) {
        b.skip(12);  // operating_point_idc
        auto level = static_cast<uint8_t>(b.bits(5));
        bool tier = level > 7 && b.bit();
        if (i == 0) {
            s.level_idx = level;
            s.high_tier = tier;
        }
        if (model.present && b.bit()) b.skip(static_cast<size_t>(2 * model.delay_bits + 1));
        if (display_delay && b.bit()) b.skip(4);
    }
}

struct Colors {
    bool high = false, twelve = false, mono = false, sub_x = true, sub_y = true;
    uint8_t position = 0;
};

// color_config (5.5.2)
Colors read_colors(BitReader& b, uint8_t profile) {
    Colors c;
    c.high = b.bit();
    c.twelve = profile == 2 && c.high && b.bit();
    c.mono = profile != 1 && b.bit();
    bool srgb = false;
    if (b.bit()) {
        uint32_t primaries = b.bits(8), transfer = b.bits(8), matrix = b.bits(8);
        srgb = primaries == 1 && transfer == 13 && matrix == 0;
    }
    if (c.mono) {
        b.bit();  // color_range
        return c;
    }
    if (srgb) {
        c.sub_x = c.sub_y = false;
        return c;
    }
    b.bit();
    if (profile == 1) {
        c.sub_x = c.sub_y = false;
    } else if (profile == 2) {
        c.sub_x = !c.twelve || b.bit();
        c.sub_y = c.twelve && c.sub_x && b.bit();
    }
    if (c.sub_x && c.sub_y) c.position = static_cast<uint8_t>(b.bits(2));
    return c;
}

// Skips the fields between the size and the colours.
void skip_tools(BitReader& b, bool reduced) {
    if (!reduced && b.bit()) b.skip(7);  // lengths of frame ids
    b.skip(3);                           // superblocks, intra filter and edges
    if (!reduced) {
        b.skip(4);  // compound, warped motion, dual filter
        bool order_hint = b.bit();
        if (order_hint) b.skip(2);
        bool screen_content = b.bit() || b.bit();
        if (screen_content && !b.bit()) b.bit();
        if (order_hint) b.skip(3);
    }
    b.skip(3);  // superresolution, cdef, restoration
}

// Parses the fields from the profile to the size, for both callers.
Av1Sequence read_front(BitReader& b, bool& reduced) {
    Av1Sequence s;
    s.profile = static_cast<uint8_t>(b.bits(3));
    b.bit();  // still_picture
    reduced = b.bit();
    if (reduced) {
        s.level_idx = static_cast<uint8_t>(b.bits(5));
    } else {
        read_operating_points(b, s);
    }
    int width_bits = static_cast<int>(b.bits(4)) + 1;
    int height_bits = static_cast<int>(b.bits(4)) + 1;
    s.width = static_cast<int>(b.bits(width_bits)) + 1;
    s.height = static_cast<int>(b.bits(height_bits)) + 1;
    return s;
}

}  // namespace

std::optional<Obu> ObuReader::next() {
    if (rest_.empty()) return std::nullopt;
    ByteReader r(rest_);
    uint8_t header = r.u8();
    if (header & 4) r.skip(1);  // temporal and spatial ids
    uint64_t size = header & 2 ? leb128(r) : r.left();
    if (!r.ok() || size > r.left() || header & 0x80) {
        ok_ = false;
        rest_ = {};
        return std::nullopt;
    }
    Obu obu{static_cast<uint8_t>(header >> 3 & 15), r.bytes(size)};
    rest_ = r.rest();
    return obu;
}

Result<Av1Config> parse_av1_config(std::span<const uint8_t> record) {
    if (record.size() < 4) return fail(Code::kProtocol, fmt::format("AV1 configuration of {} bytes", record.size()));
    if (record[0] != 0x81)
        return fail(Code::kProtocol, fmt::format("AV1 configuration of version {}", record[0] & 127));
    Av1Config config;
    config.profile = record[1] >> 5;
    config.level_idx = record[1] & 0x1f;
    config.high_tier = record[2] & 0x80;
    config.bit_depth = record[2] & 0x40 ? (record[2] & 0x20 ? 12 : 10) : 8;
    ObuReader obus(record.subspan(4));
    while (auto obu = obus.next()) {
        if (obu->type == av1::kSequenceHeader) config.sequence = TRY(parse_av1_sequence(obu->payload));
    }
    if (!obus.ok()) return fail(Code::kProtocol, "AV1 configuration: an OBU runs past the end");
    return config;
}

Result<Av1Sequence> parse_av1_sequence(std::span<const uint8_t> payload) {
    BitReader b(payload);
    bool reduced = false;
    Av1Sequence s = read_front(b, reduced);
    if (!b.ok()) return fail(Code::kProtocol, "AV1 sequence header: too short");
    return s;
}

Result<base::Slice> make_av1_config(std::span<const uint8_t> payload) {
    if (payload.size() > 1024) return fail(Code::kProtocol, "AV1 sequence header: too long");
    BitReader b(payload);
    bool reduced = false;
    Av1Sequence s = read_front(b, reduced);
    skip_tools(b, reduced);
    Colors c = read_colors(b, s.profile);
    if (!b.ok()) return fail(Code::kProtocol, "AV1 sequence header: too short");
    base::SliceBuilder out;
    out.append(0x81);
    out.append(static_cast<uint8_t>(s.profile << 5 | s.level_idx));
    out.append(static_cast<uint8_t>(s.high_tier << 7 | c.high << 6 | c.twelve << 5 | c.mono << 4 | c.sub_x << 3 |
                                    c.sub_y << 2 | c.position));
    out.append(0);  // initial_presentation_delay is not given
    out.append(av1::kSequenceHeader << 3 | 2);
    auto size = static_cast<uint32_t>(payload.size());
    put_leb128(out.extend(leb128_size(size)), size);
    out.append(payload);
    return out.freeze();
}

size_t leb128_size(uint32_t value) {
    size_t size = 1;
    while (value >>= 7) ++size;
    return size;
}

uint8_t* put_leb128(uint8_t* p, uint32_t value) {
    for (; value >= 0x80; value >>= 7) *p++ = static_cast<uint8_t>(value | 0x80);
    *p++ = static_cast<uint8_t>(value);
    return p;
}

std::string_view av1_profile_name(uint8_t profile) {
    constexpr std::string_view kNames[] = {"Main", "High", "Professional"};
    return profile < std::size(kNames) ? kNames[profile] : "";
}

std::string av1_level_name(uint8_t level_idx) {
    if (level_idx > 23) return "";
    return fmt::format("{}.{}", 2 + level_idx / 4, level_idx % 4);
}

}  // namespace media
