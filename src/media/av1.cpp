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

// The levels of the operating points; the first one's counts.
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
    Av1Sequence s;
    s.profile = static_cast<uint8_t>(b.bits(3));
    b.bit();  // still_picture
    if (b.bit()) {
        s.level_idx = static_cast<uint8_t>(b.bits(5));
    } else {
        read_operating_points(b, s);
    }
    int width_bits = static_cast<int>(b.bits(4)) + 1;
    int height_bits = static_cast<int>(b.bits(4)) + 1;
    s.width = static_cast<int>(b.bits(width_bits)) + 1;
    s.height = static_cast<int>(b.bits(height_bits)) + 1;
    if (!b.ok()) return fail(Code::kProtocol, "AV1 sequence header: too short");
    return s;
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
