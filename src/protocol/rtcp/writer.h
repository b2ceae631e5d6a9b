#pragma once
// Writes consecutive RTCP packets into memory of the caller: a compound if it begins with a report (RFC 3550, 6.1), or
// a reduced-size one (RFC 5506). A packet that does not fit is not written, and the return value says so.

#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/rtcp/packet.h"

namespace rtcp {

class Writer {
  public:
    explicit Writer(std::span<uint8_t> out) : out_(out) {}

    std::span<const uint8_t> written() const { return out_.first(size_); }
    size_t size() const { return size_; }
    size_t left() const { return out_.size() - size_; }

    // blocks: at most kMaxReportBlocks; further ones are ignored.
    bool sender_report(const SenderReport& report, std::span<const ReportBlock> blocks = {});
    bool receiver_report(uint32_t ssrc, std::span<const ReportBlock> blocks = {});
    // One chunk with a CNAME of at most 255 bytes.
    bool cname(uint32_t ssrc, std::string_view name);
    // At most 31.
    bool bye(std::span<const uint32_t> ssrcs);
    // The sequence numbers in ascending order (they may wrap). Returns how many of them were written: fewer when there
    // is not enough room.
    size_t nack(uint32_t sender, uint32_t media, std::span<const uint16_t> sequences);
    bool pli(uint32_t sender, uint32_t media);
    // sequence: incremented for each new request.
    bool fir(uint32_t sender, uint32_t media, uint8_t sequence);
    // At most 255 SSRCs. The rate is rounded down to a mantissa of 18 bits.
    bool remb(uint32_t sender, uint64_t bits_per_second, std::span<const uint32_t> ssrcs);

    // Adds the header of a packet of any kind with room for `body` bytes (a multiple of 4). Returns where to write
    // them, or null when it does not fit.
    uint8_t* add(uint8_t type, uint8_t count, size_t body);

  private:
    std::span<uint8_t> out_;
    size_t size_ = 0;
};

}  // namespace rtcp
