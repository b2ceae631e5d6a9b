#pragma once
// The receiver's side of transport-wide congestion control (draft-holmer-rmcat-transport-wide-cc-extensions-01):
// arrivals in, feedback packets out. One per publisher's transport. Times are handed in, microseconds of a clock that
// does not go back.

#include <array>
#include <cstdint>

#include "protocol/rtcp/writer.h"
#include "protocol/rtp/unwrap.h"

namespace rtcp {

class TwccCollector {
  public:
    // How many packets may come between two feedbacks; of more, the older ones are never spoken of, which their sender
    // takes for a loss of feedback.
    static constexpr int64_t kWindow = 1024;

    // sequence: of the header extension. A packet that was reported missing and comes after all is reported with the
    // next feedback, and what came behind it once more.
    void on_packet(uint16_t sequence, int64_t arrival_us);

    bool has_news() const { return next_ <= newest_; }
    // One feedback of as many packets as fit. False when there is nothing to say or no room: call it, in a new packet,
    // until then.
    bool write(uint32_t sender_ssrc, uint32_t media_ssrc, Writer& out);

    uint64_t forgotten() const { return forgotten_; }

  private:
    static constexpr int64_t kMissing = INT64_MIN;
    struct Batch;
    int64_t& arrival(int64_t sequence) { return arrivals_[static_cast<uint64_t>(sequence) % kWindow]; }
    Batch gather(size_t max_packets);

    rtp::SequenceUnwrapper unwrapper_;
    int64_t next_ = 0;     // not yet spoken of
    int64_t newest_ = -1;  // none
    std::array<int64_t, kWindow> arrivals_{};
    uint8_t feedback_count_ = 0;
    bool started_ = false;
    uint64_t forgotten_ = 0;
};

}  // namespace rtcp
