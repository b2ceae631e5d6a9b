#pragma once
// Reads a datagram of RTCP, compound (RFC 3550, 6.1) or reduced-size (RFC 5506), and tells a visitor what is in it.
// What it does not know it passes over. Nothing is kept, nothing allocated; views end with the call.

#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/rtcp/packet.h"
#include "protocol/rtcp/transport_feedback.h"

namespace rtcp {

class Visitor {
  public:
    virtual ~Visitor() = default;
    virtual void on_sender_report(const SenderReport&) {}
    // Of sender and receiver reports alike.
    virtual void on_report_block([[maybe_unused]] uint32_t reporter, const ReportBlock&) {}
    virtual void on_cname([[maybe_unused]] uint32_t ssrc, [[maybe_unused]] std::string_view cname) {}
    virtual void on_bye([[maybe_unused]] uint32_t ssrc) {}
    virtual void on_nack([[maybe_unused]] uint32_t sender, [[maybe_unused]] uint32_t media, LostSequences) {}
    virtual void on_pli([[maybe_unused]] uint32_t sender, [[maybe_unused]] uint32_t media) {}
    // `sequence` is the same when the request is sent again.
    virtual void on_fir([[maybe_unused]] uint32_t sender, [[maybe_unused]] uint32_t media,
                        [[maybe_unused]] uint8_t sequence) {}
    virtual void on_transport_feedback(const TransportFeedback&) {}
    virtual void on_remb([[maybe_unused]] uint32_t sender, [[maybe_unused]] uint64_t bits_per_second, SsrcList) {}
};

struct Parsed {
    // The packets' lengths add up to the datagram's, each of version 2. If not, the visitor was told nothing.
    bool framed = false;
    uint32_t packets = 0;
    uint32_t malformed = 0;  // whose contents do not fit their length; told nothing of these
    uint32_t unknown = 0;    // of another type or format
};

Parsed parse(std::span<const uint8_t> datagram, Visitor& visitor);

}  // namespace rtcp
