#include "protocol/rtp/payload/aac_payload.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bits.h"
#include "base/bytes.h"

namespace rtp {

using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr size_t kHeadersSize = 4;       // AU-headers-length, and one AU header of 16 bits
constexpr size_t kMaxUnitSize = 0x1fff;  // 13 bits

media::Frame aac_frame(base::Slice payload, bool header) {
    media::Frame frame;
    frame.kind = media::Kind::kAudio;
    frame.codec = media::Codec::kAac;
    frame.sequence_header = header;
    frame.payload = std::move(payload);
    return frame;
}

}  // namespace

Result<void> AacPacketizer::set_header(const media::Frame& header) {
    TRY(media::parse_aac_config(header.payload));
    return {};
}

// RFC 3640, 3.2.1.1: each fragment has the size of the whole access unit.
Result<void> AacPacketizer::write_payloads(const media::Frame& frame) {
    const size_t size = frame.payload.size();
    if (size == 0 || frame.sequence_header) return {};
    if (size > kMaxUnitSize)
        return fail(Code::kProtocol, fmt::format("an AAC frame of {} bytes; at most {}", size, kMaxUnitSize));
    const size_t room = options_.max_payload - kHeadersSize;
    const size_t count = (size + room - 1) / room;
    const size_t step = (size + count - 1) / count;
    reserve(size + count * kHeadersSize, count);
    for (size_t at = 0; at < size; at += step) {
        begin_payload();
        uint8_t* p = base::put_u16(extend(kHeadersSize), 16);
        base::put_u16(p, static_cast<uint32_t>(size << 3));
        append(frame.payload.bytes().subspan(at, std::min(step, size - at)));
        end_payload();
    }
    set_marker();
    return {};
}

bool AacUnits::set_config(base::Slice config) {
    if (config == config_) return true;
    auto parsed = media::parse_aac_config(config);
    if (!parsed) return false;
    core_rate_ = parsed->core_sample_rate;
    samples_ = parsed->samples_per_frame;
    config_ = std::move(config);
    untold_ = true;
    return true;
}

uint32_t AacUnits::offset(size_t index) const {
    if (core_rate_ == 0) return 0;
    return static_cast<uint32_t>(uint64_t{index} * static_cast<uint64_t>(samples_) * clock_rate_ /
                                 static_cast<uint64_t>(core_rate_));
}

// A raw access unit never begins with twelve ones: these are the end of a block, then reserved values.
std::span<const uint8_t> AacUnits::without_adts(std::span<const uint8_t> access_unit) {
    if (access_unit.size() < media::kAdtsHeaderSize || access_unit[0] != 0xff || access_unit[1] >> 4 != 0xf)
        return access_unit;
    auto header = media::parse_adts(access_unit);
    if (!header || header->frame_size != access_unit.size() || header->raw_blocks != 1) return access_unit;
    set_config(media::make_aac_config(header->object_type, header->sample_rate, header->channel_config));
    return access_unit.subspan(header->header_size);
}

bool AacUnits::append(std::span<const uint8_t> access_unit, uint32_t timestamp, std::vector<Unit>& out) {
    access_unit = without_adts(access_unit);
    if (config_.empty()) return false;
    if (std::exchange(untold_, false)) out.push_back({aac_frame(config_, true), timestamp});
    if (!access_unit.empty()) out.push_back({aac_frame(base::Slice::copy(access_unit), false), timestamp});
    return true;
}

AacDepacketizer::AacDepacketizer(const PayloadFormat& format) : format_(format), units_(format.clock_rate) {
    CHECK(format.size_length <= 16 && format.index_length <= 16 && format.index_delta_length <= 16);
    if (format.aac_config.empty() || !units_.set_config(format.aac_config)) {
        const auto channels = static_cast<uint8_t>(std::clamp(format.channels, 1, 6));
        units_.set_config(media::make_aac_config(2, static_cast<int>(format.clock_rate), channels));
    }
}

void AacDepacketizer::push(const DepacketizerPacket& packet, std::vector<Unit>& out) {
    if (packet.after_hole) drop_fragment();
    if (packet.payload.empty()) return;
    if (!take(packet, out)) ++counters_.malformed;
}

bool AacDepacketizer::defective(std::string_view defect) {
    counters_.defect = defect;
    return false;
}

void AacDepacketizer::drop_fragment() {
    if (std::exchange(part_size_, 0) > 0) ++counters_.damaged;
    part_.clear();
}

bool AacDepacketizer::take(const DepacketizerPacket& packet, std::vector<Unit>& out) {
    if (format_.size_length + format_.index_length == 0) return take_without_headers(packet, out);
    base::ByteReader r(packet.payload);
    const size_t bits = r.u16();
    auto headers = r.bytes((bits + 7) / 8);
    if (!r.ok() || bits == 0) return defective("AU headers are longer than the packet");
    return take_units(packet, headers, bits, r.rest(), out);
}

// RFC 3640, 3.2.1: the AU header section is absent where its fields have no bits.
bool AacDepacketizer::take_without_headers(const DepacketizerPacket& packet, std::vector<Unit>& out) {
    const size_t size = format_.constant_size > 0 ? format_.constant_size : packet.payload.size();
    if (packet.payload.size() % size != 0) return defective("the packet is no whole number of access units");
    size_t index = 0;
    for (auto rest = packet.payload; !rest.empty(); rest = rest.subspan(size))
        deliver(rest.first(size), packet.timestamp + units_.offset(index++), out);
    return true;
}

bool AacDepacketizer::take_units(const DepacketizerPacket& packet, std::span<const uint8_t> headers, size_t bits,
                                 std::span<const uint8_t> data, std::vector<Unit>& out) {
    base::BitReader b(headers);
    for (size_t index = 0; bits > 0; ++index) {
        const int index_bits = index == 0 ? format_.index_length : format_.index_delta_length;
        const auto header_bits = static_cast<size_t>(format_.size_length + index_bits);
        if (header_bits == 0 || bits < header_bits) return defective("a truncated AU header");
        bits -= header_bits;
        size_t size = format_.size_length > 0 ? b.bits(format_.size_length) : format_.constant_size;
        if (b.bits(index_bits) != 0 && index > 0) return defective("interleaved access units are not supported");
        if (size == 0) size = data.size();  // not known, and then it is the only one
        if (index == 0 && (part_size_ > 0 || size > data.size())) {
            if (bits == 0) return take_fragment(packet, size, data, out);
            drop_fragment();
        }
        if (size > data.size()) return defective("an access unit runs past the end of its packet");
        deliver(data.first(size), packet.timestamp + units_.offset(index), out);
        data = data.subspan(size);
    }
    return true;
}

// A part of one access unit, or a complete one where the end of the unit before is missing.
bool AacDepacketizer::take_fragment(const DepacketizerPacket& packet, size_t unit_size, std::span<const uint8_t> data,
                                    std::vector<Unit>& out) {
    if (part_size_ > 0 && (packet.timestamp != part_timestamp_ || unit_size != part_size_)) drop_fragment();
    if (part_size_ == 0) {
        part_size_ = unit_size;
        part_timestamp_ = packet.timestamp;
    }
    if (part_.size() + data.size() > part_size_) {
        drop_fragment();
        return defective("fragments are longer than their access unit");
    }
    part_.insert(part_.end(), data.begin(), data.end());
    if (part_.size() == part_size_) {
        deliver(part_, part_timestamp_, out);
        part_size_ = 0;
        part_.clear();
    } else if (packet.marker) {
        drop_fragment();
        return defective("an access unit ends before its size is reached");
    }
    return true;
}

}  // namespace rtp
