#include "protocol/rtcp/writer.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rtcp {

namespace {

using base::put_u16;
using base::put_u24;
using base::put_u32;

uint8_t* put_block(uint8_t* p, const ReportBlock& block) {
    p = put_u32(p, block.ssrc);
    *p++ = block.fraction_lost;
    p = put_u24(p, static_cast<uint32_t>(block.cumulative_lost));
    p = put_u32(put_u32(p, block.highest_sequence), block.jitter);
    return put_u32(put_u32(p, block.last_sr), block.delay_since_sr);
}

std::span<const ReportBlock> at_most(std::span<const ReportBlock> blocks) {
    return blocks.first(std::min(blocks.size(), kMaxReportBlocks));
}

}  // namespace

uint8_t* Writer::add(uint8_t type, uint8_t count, size_t body) {
    if (left() < kHeaderSize + body || body / 4 > 0xffff) return nullptr;
    uint8_t* p = out_.data() + size_;
    p[0] = static_cast<uint8_t>(0x80 | count);
    p[1] = type;
    size_ += kHeaderSize + body;
    return put_u16(p + 2, static_cast<uint32_t>(body / 4));
}

bool Writer::sender_report(const SenderReport& report, std::span<const ReportBlock> blocks) {
    blocks = at_most(blocks);
    uint8_t* p = add(kSenderReport, static_cast<uint8_t>(blocks.size()), 24 + blocks.size() * kReportBlockSize);
    if (!p) return false;
    p = put_u32(p, report.ssrc);
    p = put_u32(put_u32(p, static_cast<uint32_t>(report.ntp >> 32)), static_cast<uint32_t>(report.ntp));
    p = put_u32(put_u32(put_u32(p, report.rtp_timestamp), report.packets), report.octets);
    for (const ReportBlock& block : blocks) p = put_block(p, block);
    return true;
}

bool Writer::receiver_report(uint32_t ssrc, std::span<const ReportBlock> blocks) {
    blocks = at_most(blocks);
    uint8_t* p = add(kReceiverReport, static_cast<uint8_t>(blocks.size()), 4 + blocks.size() * kReportBlockSize);
    if (!p) return false;
    p = put_u32(p, ssrc);
    for (const ReportBlock& block : blocks) p = put_block(p, block);
    return true;
}

bool Writer::cname(uint32_t ssrc, std::string_view name) {
    name = name.substr(0, 255);
    size_t body = (4 + 2 + name.size() + 1 + 3) & ~size_t{3};  // SSRC, item, end marker, padded to four bytes
    uint8_t* p = add(kSourceDescription, 1, body);
    if (!p) return false;
    std::memset(p, 0, body);
    p = put_u32(p, ssrc);
    p[0] = 1;
    p[1] = static_cast<uint8_t>(name.size());
    std::memcpy(p + 2, name.data(), name.size());
    return true;
}

bool Writer::bye(std::span<const uint32_t> ssrcs) {
    ssrcs = ssrcs.first(std::min<size_t>(ssrcs.size(), 31));
    uint8_t* p = add(kBye, static_cast<uint8_t>(ssrcs.size()), 4 * ssrcs.size());
    if (!p) return false;
    for (uint32_t ssrc : ssrcs) p = put_u32(p, ssrc);
    return true;
}

size_t Writer::nack(uint32_t sender, uint32_t media, std::span<const uint16_t> sequences) {
    if (sequences.empty() || left() < kHeaderSize + 12) return 0;
    uint8_t* start = out_.data() + size_;
    uint8_t* end = start + std::min(left(), kHeaderSize + 0xffff * size_t{4});
    uint8_t* p = start + kHeaderSize + 8;
    size_t i = 0;
    while (i < sequences.size() && end - p >= 4) {
        uint16_t first = sequences[i++], mask = 0;
        while (i < sequences.size()) {
            auto distance = static_cast<uint16_t>(sequences[i] - first);
            if (distance > 16) break;
            if (distance > 0) mask = static_cast<uint16_t>(mask | 1u << (distance - 1));
            ++i;
        }
        p = put_u16(put_u16(p, first), mask);
    }
    auto body = static_cast<size_t>(p - start) - kHeaderSize;
    put_u32(put_u32(add(kTransportFeedback, kNackFormat, body), sender), media);
    return i;
}

bool Writer::pli(uint32_t sender, uint32_t media) {
    uint8_t* p = add(kPayloadFeedback, kPliFormat, 8);
    if (!p) return false;
    put_u32(put_u32(p, sender), media);
    return true;
}

bool Writer::fir(uint32_t sender, uint32_t media, uint8_t sequence) {
    uint8_t* p = add(kPayloadFeedback, kFirFormat, 16);
    if (!p) return false;
    // The header's media SSRC is 0: the target SSRC is in the entry (RFC 5104, 4.3.1.2).
    put_u32(put_u32(put_u32(put_u32(p, sender), 0), media), uint32_t{sequence} << 24);
    return true;
}

bool Writer::remb(uint32_t sender, uint64_t bits_per_second, std::span<const uint32_t> ssrcs) {
    ssrcs = ssrcs.first(std::min<size_t>(ssrcs.size(), 255));
    uint8_t* p = add(kPayloadFeedback, kApplicationLayerFormat, 16 + 4 * ssrcs.size());
    if (!p) return false;
    auto exponent = static_cast<uint32_t>(std::max(0, static_cast<int>(std::bit_width(bits_per_second)) - 18));
    auto mantissa = static_cast<uint32_t>(bits_per_second >> exponent);
    p = put_u32(put_u32(put_u32(p, sender), 0), 0x52454d42);
    *p++ = static_cast<uint8_t>(ssrcs.size());
    p = put_u24(p, exponent << 18 | mantissa);
    for (uint32_t ssrc : ssrcs) p = put_u32(p, ssrc);
    return true;
}

}  // namespace rtcp
