#include "protocol/rtcp/parser.h"

namespace rtcp {

namespace {

using rtp::get_u16;
using rtp::get_u32;

enum class Outcome : uint8_t { kGood, kMalformed, kUnknown };

struct Packet {
    uint8_t type;
    uint8_t count;  // or format
    std::span<const uint8_t> body;
};

// Takes the first packet off `rest`; false: it is malformed. RFC 3550, A.2: only the last packet may have padding.
bool take(std::span<const uint8_t>& rest, Packet& packet) {
    if (rest.size() < kHeaderSize || rest[0] >> 6 != 2) return false;
    size_t size = kHeaderSize + 4 * size_t{get_u16(&rest[2])};
    if (size > rest.size()) return false;
    size_t padding = 0;
    if (rest[0] & 0x20) {
        padding = rest[size - 1];
        if (size != rest.size() || padding == 0 || padding % 4 != 0 || padding > size - kHeaderSize) return false;
    }
    packet = {rest[1], static_cast<uint8_t>(rest[0] & 31), rest.subspan(kHeaderSize, size - kHeaderSize - padding)};
    rest = rest.subspan(size);
    return true;
}

bool is_framed(std::span<const uint8_t> datagram) {
    Packet packet;
    if (datagram.empty()) return false;
    while (!datagram.empty()) {
        if (!take(datagram, packet)) return false;
    }
    return true;
}

ReportBlock read_block(const uint8_t* p) {
    int32_t lost = static_cast<int32_t>(get_u32(p + 4) << 8) >> 8;
    return {get_u32(p), p[4], lost, get_u32(p + 8), get_u32(p + 12), get_u32(p + 16), get_u32(p + 20)};
}

// The blocks may be followed by a profile-specific extension, which is skipped.
bool read_blocks(uint32_t reporter, unsigned count, std::span<const uint8_t> bytes, Visitor& visitor) {
    if (bytes.size() < count * kReportBlockSize) return false;
    for (unsigned i = 0; i < count; ++i) visitor.on_report_block(reporter, read_block(&bytes[i * kReportBlockSize]));
    return true;
}

Outcome sender_report(const Packet& packet, Visitor& visitor) {
    auto b = packet.body;
    if (b.size() < 24 + packet.count * kReportBlockSize) return Outcome::kMalformed;
    SenderReport report{get_u32(&b[0]), uint64_t{get_u32(&b[4])} << 32 | get_u32(&b[8]), get_u32(&b[12]),
                        get_u32(&b[16]), get_u32(&b[20])};
    visitor.on_sender_report(report);
    read_blocks(report.ssrc, packet.count, b.subspan(24), visitor);
    return Outcome::kGood;
}

Outcome receiver_report(const Packet& packet, Visitor& visitor) {
    if (packet.body.size() < 4) return Outcome::kMalformed;
    bool good = read_blocks(get_u32(packet.body.data()), packet.count, packet.body.subspan(4), visitor);
    return good ? Outcome::kGood : Outcome::kMalformed;
}

// Takes one chunk off the input: an SSRC, items up to a type of 0, padding to four bytes.
bool take_chunk(base::ByteReader& in, Visitor& visitor) {
    size_t before = in.left();
    uint32_t ssrc = in.u32();
    while (uint8_t type = in.u8()) {
        std::string_view text = in.text(in.u8());
        if (!in.ok()) return false;
        if (type == 1) visitor.on_cname(ssrc, text);
    }
    size_t used = before - in.left();
    in.skip((4 - used % 4) % 4);
    return in.ok();
}

bool read_chunks(const Packet& packet, Visitor& visitor) {
    base::ByteReader in(packet.body);
    for (unsigned i = 0; i < packet.count; ++i) {
        if (!take_chunk(in, visitor)) return false;
    }
    return true;
}

Outcome source_description(const Packet& packet, Visitor& visitor) {
    Visitor nobody;
    if (!read_chunks(packet, nobody)) return Outcome::kMalformed;
    read_chunks(packet, visitor);
    return Outcome::kGood;
}

Outcome bye(const Packet& packet, Visitor& visitor) {
    if (packet.body.size() < 4u * packet.count) return Outcome::kMalformed;
    for (unsigned i = 0; i < packet.count; ++i) visitor.on_bye(get_u32(&packet.body[4 * i]));
    return Outcome::kGood;
}

// The fields after the header of feedback packets: two SSRCs, then the FCI.
struct Feedback {
    uint32_t sender, media;
    std::span<const uint8_t> fci;
};

Outcome transport_feedback(uint8_t format, const Feedback& feedback, Visitor& visitor) {
    if (format == kNackFormat) {
        if (feedback.fci.empty()) return Outcome::kMalformed;
        visitor.on_nack(feedback.sender, feedback.media, LostSequences(feedback.fci));
        return Outcome::kGood;
    }
    if (format != kTransportCcFormat) return Outcome::kUnknown;
    visitor.on_transport_feedback(feedback.sender, feedback.media, feedback.fci);
    return Outcome::kGood;
}

Outcome fir(const Feedback& feedback, Visitor& visitor) {
    if (feedback.fci.empty() || feedback.fci.size() % 8 != 0) return Outcome::kMalformed;
    for (size_t at = 0; at < feedback.fci.size(); at += 8) {
        visitor.on_fir(feedback.sender, get_u32(&feedback.fci[at]), feedback.fci[at + 4]);
    }
    return Outcome::kGood;
}

// "REMB", the number of SSRCs, 6 bits of exponent and 18 of mantissa.
Outcome remb(const Feedback& feedback, Visitor& visitor) {
    auto fci = feedback.fci;
    if (fci.size() < 8 || get_u32(fci.data()) != 0x52454d42) return Outcome::kUnknown;
    size_t ssrcs = fci[4];
    unsigned exponent = fci[5] >> 2;
    uint64_t mantissa = uint64_t{fci[5] & 3u} << 16 | get_u16(&fci[6]);
    bool too_large = mantissa != 0 && exponent > 46;  // does not fit 64 bits
    if (fci.size() != 8 + 4 * ssrcs || too_large) return Outcome::kMalformed;
    visitor.on_remb(feedback.sender, mantissa == 0 ? 0 : mantissa << exponent, SsrcList(fci.subspan(8)));
    return Outcome::kGood;
}

Outcome payload_feedback(uint8_t format, const Feedback& feedback, Visitor& visitor) {
    switch (format) {
        case kPliFormat:
            visitor.on_pli(feedback.sender, feedback.media);
            return Outcome::kGood;
        case kFirFormat:
            return fir(feedback, visitor);
        case kApplicationLayerFormat:
            return remb(feedback, visitor);
        default:
            return Outcome::kUnknown;
    }
}

Outcome visit(const Packet& packet, Visitor& visitor) {
    switch (packet.type) {
        case kSenderReport:
            return sender_report(packet, visitor);
        case kReceiverReport:
            return receiver_report(packet, visitor);
        case kSourceDescription:
            return source_description(packet, visitor);
        case kBye:
            return bye(packet, visitor);
        case kTransportFeedback:
        case kPayloadFeedback: {
            if (packet.body.size() < 8) return Outcome::kMalformed;
            Feedback feedback{get_u32(&packet.body[0]), get_u32(&packet.body[4]), packet.body.subspan(8)};
            return packet.type == kTransportFeedback ? transport_feedback(packet.count, feedback, visitor)
                                                     : payload_feedback(packet.count, feedback, visitor);
        }
        default:
            return Outcome::kUnknown;
    }
}

}  // namespace

Parsed parse(std::span<const uint8_t> datagram, Visitor& visitor) {
    Parsed parsed;
    parsed.framed = is_framed(datagram);
    if (!parsed.framed) return parsed;
    Packet packet;
    while (take(datagram, packet)) {
        ++parsed.packets;
        Outcome outcome = visit(packet, visitor);
        if (outcome == Outcome::kMalformed) ++parsed.malformed;
        if (outcome == Outcome::kUnknown) ++parsed.unknown;
    }
    return parsed;
}

}  // namespace rtcp
