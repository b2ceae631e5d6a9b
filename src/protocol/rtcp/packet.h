#pragma once
// RTCP's packet types and their contents: RFC 3550, 6; RFC 4585 and 5104 (feedback); draft-alvestrand-rmcat-remb-03
// (REMB); draft-holmer-rmcat-transport-wide-cc-extensions-01 (in rtcp/twcc_collector.h).

#include <cstdint>
#include <span>

#include "protocol/rtp/packet.h"
#include "protocol/rtp/reception_stats.h"

namespace rtcp {

using rtp::ReportBlock;

enum PacketType : uint8_t {
    kSenderReport = 200,
    kReceiverReport = 201,
    kSourceDescription = 202,
    kBye = 203,
    kApplication = 204,
    kTransportFeedback = 205,  // RTPFB
    kPayloadFeedback = 206,    // PSFB
    kExtendedReport = 207,
};

// Feedback message types (FMT) of RTPFB, then of PSFB.
inline constexpr uint8_t kNackFormat = 1, kTransportCcFormat = 15;
inline constexpr uint8_t kPliFormat = 1, kFirFormat = 4, kApplicationLayerFormat = 15;

inline constexpr size_t kHeaderSize = 4;
inline constexpr size_t kReportBlockSize = 24;
inline constexpr size_t kMaxReportBlocks = 31;

struct SenderReport {
    uint32_t ssrc = 0;
    uint64_t ntp = 0;
    uint32_t rtp_timestamp = 0;  // the time of ntp
    uint32_t packets = 0;
    uint32_t octets = 0;  // of payload
    friend bool operator==(const SenderReport&, const SenderReport&) = default;
};

// The sequence numbers of a generic NACK (RFC 4585, 6.2.1); a view.
class LostSequences {
  public:
    explicit LostSequences(std::span<const uint8_t> fci) : fci_(fci) {}
    // In the order of the packet; at most 17 for each four bytes.
    template <class F>
    void for_each(F f) const {
        for (size_t at = 0; at + 4 <= fci_.size(); at += 4) {
            uint16_t first = rtp::get_u16(&fci_[at]);
            f(first);
            for (uint16_t mask = rtp::get_u16(&fci_[at + 2]), i = 1; mask != 0; mask >>= 1, ++i) {
                if (mask & 1) f(static_cast<uint16_t>(first + i));
            }
        }
    }

  private:
    std::span<const uint8_t> fci_;
};

// Consecutive SSRCs; a view.
class SsrcList {
  public:
    explicit SsrcList(std::span<const uint8_t> bytes) : bytes_(bytes) {}
    size_t size() const { return bytes_.size() / 4; }
    uint32_t operator[](size_t i) const { return rtp::get_u32(&bytes_[4 * i]); }

  private:
    std::span<const uint8_t> bytes_;
};

}  // namespace rtcp
