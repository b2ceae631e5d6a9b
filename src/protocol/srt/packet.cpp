#include "protocol/srt/packet.h"

#include "base/bytes.h"
#include "protocol/srt/sequence.h"

namespace srt {

using base::get_u16;
using base::get_u32;
using base::put_u16;
using base::put_u32;

namespace {

constexpr uint32_t kTopBit = 0x80000000u;
constexpr size_t kLightAck = 4, kSmallAck = 16, kOldFullAck = 24, kFullAck = 28;

// A packet without contents, or the header of one with `contents` bytes; the whole size, 0 when there is no room.
size_t begin_control(std::span<uint8_t> out, Target target, ControlType type, uint32_t info, size_t contents) {
    if (out.size() < kHeaderSize + contents) return 0;
    write_control_header(
        out.first<kHeaderSize>(),
        {.type = type, .info = info, .timestamp_us = target.timestamp_us, .destination = target.destination});
    return kHeaderSize + contents;
}

size_t contents_of(Ack::Kind kind) {
    if (kind == Ack::Kind::kLight) return kLightAck;
    return kind == Ack::Kind::kSmall ? kSmallAck : kFullAck;
}

}  // namespace

uint32_t destination_of(std::span<const uint8_t> packet) { return get_u32(&packet[12]); }

std::optional<DataHeader> parse_data(std::span<const uint8_t> datagram) {
    if (!is_packet(datagram) || is_control(datagram)) return std::nullopt;
    const uint32_t flags = get_u32(&datagram[4]);
    DataHeader header{.sequence = get_u32(&datagram[0]),
                      .boundary = static_cast<Boundary>(flags >> 30),
                      .in_order = (flags >> 29 & 1) != 0,
                      .key = static_cast<KeyParity>(flags >> 27 & 3),
                      .retransmitted = (flags >> 26 & 1) != 0,
                      .message = flags & kMaxMessage,
                      .timestamp_us = get_u32(&datagram[8]),
                      .destination = get_u32(&datagram[12])};
    if (header.key == KeyParity::kBoth) return std::nullopt;
    return header;
}

void write_data_header(std::span<uint8_t, kHeaderSize> out, const DataHeader& header) {
    uint8_t* p = put_u32(out.data(), header.sequence & kMaxSequence);
    p = put_u32(p, static_cast<uint32_t>(header.boundary) << 30 | uint32_t{header.in_order} << 29 |
                       static_cast<uint32_t>(header.key) << 27 | uint32_t{header.retransmitted} << 26 |
                       (header.message & kMaxMessage));
    p = put_u32(p, header.timestamp_us);
    put_u32(p, header.destination);
}

std::optional<ControlHeader> parse_control(std::span<const uint8_t> datagram) {
    if (!is_packet(datagram) || !is_control(datagram)) return std::nullopt;
    return ControlHeader{.type = static_cast<ControlType>(get_u16(&datagram[0]) & 0x7fff),
                         .subtype = get_u16(&datagram[2]),
                         .info = get_u32(&datagram[4]),
                         .timestamp_us = get_u32(&datagram[8]),
                         .destination = get_u32(&datagram[12])};
}

void write_control_header(std::span<uint8_t, kHeaderSize> out, const ControlHeader& header) {
    uint8_t* p = put_u16(out.data(), 0x8000u | static_cast<uint32_t>(header.type));
    p = put_u16(p, header.subtype);
    p = put_u32(p, header.info);
    p = put_u32(p, header.timestamp_us);
    put_u32(p, header.destination);
}

std::optional<Ack> parse_ack(const ControlHeader& header, std::span<const uint8_t> contents) {
    base::ByteReader in(contents);
    Ack ack{.kind = Ack::Kind::kLight, .number = header.info, .last = in.u32()};
    if (!in.ok() || ack.last > kMaxSequence) return std::nullopt;
    if (contents.size() < kSmallAck) return ack;
    ack.kind = Ack::Kind::kSmall;
    ack.rtt_us = in.u32();
    ack.rtt_var_us = in.u32();
    ack.buffer_packets = in.u32();
    if (contents.size() < kOldFullAck) return ack;
    ack.kind = Ack::Kind::kFull;
    ack.rate_packets = in.u32();
    ack.capacity_packets = in.u32();
    ack.rate_bytes = in.u32();  // 0 past the end
    return ack;
}

std::optional<SequenceRange> LossList::next() {
    while (rest_.size() >= 4) {
        const uint32_t first = get_u32(rest_.data());
        rest_ = rest_.subspan(4);
        if (!(first & kTopBit)) return SequenceRange{first, first};
        if (rest_.size() < 4) {
            ++malformed_;
            break;
        }
        const uint32_t last = get_u32(rest_.data());
        const SequenceRange range{first & kMaxSequence, last};
        if (last & kTopBit) {  // the beginning of another range
            ++malformed_;
            continue;
        }
        rest_ = rest_.subspan(4);
        if (sequence_difference(range.last, range.first) >= 0) return range;
        ++malformed_;
    }
    if (!rest_.empty()) ++malformed_;
    rest_ = {};
    return std::nullopt;
}

std::optional<DropRequest> parse_drop_request(const ControlHeader& header, std::span<const uint8_t> contents) {
    base::ByteReader in(contents);
    DropRequest request{.message = header.info, .range = {.first = in.u32(), .last = in.u32()}};
    const SequenceRange& range = request.range;
    if (!in.ok() || range.first > kMaxSequence || range.last > kMaxSequence ||
        sequence_difference(range.last, range.first) < 0) {
        return std::nullopt;
    }
    return request;
}

size_t write_ack(std::span<uint8_t> out, Target target, const Ack& ack) {
    const size_t contents = contents_of(ack.kind);
    const size_t size = begin_control(out, target, ControlType::kAck, ack.number, contents);
    if (size == 0) return 0;
    uint8_t* p = put_u32(&out[kHeaderSize], ack.last & kMaxSequence);
    if (contents >= kSmallAck) {
        p = put_u32(p, ack.rtt_us);
        p = put_u32(p, ack.rtt_var_us);
        p = put_u32(p, ack.buffer_packets);
    }
    if (contents >= kFullAck) {
        p = put_u32(p, ack.rate_packets);
        p = put_u32(p, ack.capacity_packets);
        put_u32(p, ack.rate_bytes);
    }
    return size;
}

size_t write_ack_ack(std::span<uint8_t> out, Target target, uint32_t number) {
    return begin_control(out, target, ControlType::kAckAck, number, 0);
}

size_t write_keepalive(std::span<uint8_t> out, Target target) {
    return begin_control(out, target, ControlType::kKeepalive, 0, 0);
}

size_t write_shutdown(std::span<uint8_t> out, Target target) {
    return begin_control(out, target, ControlType::kShutdown, 0, 0);
}

size_t write_drop_request(std::span<uint8_t> out, Target target, const DropRequest& request) {
    const size_t size = begin_control(out, target, ControlType::kDropRequest, request.message, 8);
    if (size == 0) return 0;
    put_u32(put_u32(&out[kHeaderSize], request.range.first & kMaxSequence), request.range.last & kMaxSequence);
    return size;
}

NakWriter::NakWriter(std::span<uint8_t> out, Target target)
    : out_(out), size_(begin_control(out, target, ControlType::kNak, 0, 0)) {}

bool NakWriter::add(SequenceRange range) {
    const bool single = range.first == range.last;
    if (size_ == 0 || out_.size() - size_ < (single ? 4u : 8u)) return false;
    uint8_t* p = &out_[size_];
    if (!single) p = put_u32(p, kTopBit | range.first);
    put_u32(p, range.last & kMaxSequence);
    size_ += single ? 4 : 8;
    return true;
}

}  // namespace srt
