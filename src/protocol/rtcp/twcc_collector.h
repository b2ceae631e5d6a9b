#pragma once
// The receiver's side of transport-wide congestion control (draft-holmer-rmcat-transport-wide-cc-extensions-01):
// arrivals in, feedback packets out. One per publisher's transport. The caller passes times in microseconds of a
// monotonic clock.

#include <array>
#include <cstdint>

#include "protocol/rtcp/writer.h"
#include "protocol/rtp/unwrap.h"

namespace rtcp {

inline constexpr int64_t kTwccTickUs = 250;
inline constexpr int64_t kTwccReferenceTicks = 256;  // 64 ms

class TwccCollector {
  public:
    // How many packets may arrive between two feedbacks. When more arrive, the oldest ones are never reported, which
    // the sender takes for lost feedback.
    static constexpr int64_t kWindow = 1024;

    // sequence: of the header extension. A packet that was reported missing and arrives later is reported in the next
    // feedback, and so are the packets after it once more.
    void on_packet(uint16_t sequence, int64_t arrival_us);

    bool has_news() const { return next_ <= newest_; }
    // Writes one feedback with as many packets as fit. False when there is nothing to report or too little room: call
    // it again, with a new RTCP packet, until it returns false.
    bool write(uint32_t sender_ssrc, uint32_t media_ssrc, Writer& out);

    uint64_t forgotten() const { return forgotten_; }

  private:
    static constexpr int64_t kMissing = INT64_MIN;
    struct Batch;
    int64_t& arrival(int64_t sequence) { return arrivals_[static_cast<uint64_t>(sequence) % kWindow]; }
    Batch gather(size_t max_packets);

    rtp::SequenceUnwrapper unwrapper_;
    int64_t next_ = 0;     // the first packet not reported yet
    int64_t newest_ = -1;  // -1: none
    bool started_ = false;
    uint8_t feedback_count_ = 0;
    uint64_t forgotten_ = 0;
    std::array<int64_t, kWindow> arrivals_{};
};

}  // namespace rtcp
