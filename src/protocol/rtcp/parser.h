#pragma once
// Parses a datagram of RTCP, compound (RFC 3550, 6.1) or reduced-size (RFC 5506), and calls a visitor for each item.
// Unknown types and formats are skipped. Nothing is stored or allocated; views are valid only during the callback.

#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/rtcp/packet.h"

namespace rtcp {

class Visitor {
  public:
    virtual ~Visitor() = default;
    virtual void on_sender_report(const SenderReport&) {}
    // From sender and receiver reports.
    virtual void on_report_block([[maybe_unused]] uint32_t reporter, const ReportBlock&) {}
    virtual void on_cname([[maybe_unused]] uint32_t ssrc, [[maybe_unused]] std::string_view cname) {}
    virtual void on_bye([[maybe_unused]] uint32_t ssrc) {}
    virtual void on_nack([[maybe_unused]] uint32_t sender, [[maybe_unused]] uint32_t media, LostSequences) {}
    virtual void on_pli([[maybe_unused]] uint32_t sender, [[maybe_unused]] uint32_t media) {}
    // `sequence` is the same when the request is repeated.
    virtual void on_fir([[maybe_unused]] uint32_t sender, [[maybe_unused]] uint32_t media,
                        [[maybe_unused]] uint8_t sequence) {}
    // Transport-wide congestion control: the bytes after the two SSRCs, which are not read here.
    virtual void on_transport_feedback([[maybe_unused]] uint32_t sender, [[maybe_unused]] uint32_t media,
                                       [[maybe_unused]] std::span<const uint8_t> body) {}
    virtual void on_remb([[maybe_unused]] uint32_t sender, [[maybe_unused]] uint64_t bits_per_second, SsrcList) {}
};

struct Parsed {
    // The packets' lengths add up to the datagram's size, and each packet has version 2. If not, the visitor is not
    // called.
    bool framed = false;
    uint32_t packets = 0;
    uint32_t malformed = 0;  // packets whose contents do not fit their length; the visitor is not called for them
    uint32_t unknown = 0;    // packets of another type or format
};

Parsed parse(std::span<const uint8_t> datagram, Visitor& visitor);

}  // namespace rtcp
