#pragma once
// Transport-wide congestion control feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01, 3.1): which packets
// arrived and when. Parsing only; rtcp/twcc_collector.h writes it.

#include <cstdint>
#include <optional>
#include <span>

namespace rtcp {

inline constexpr int64_t kTwccTickUs = 250;
inline constexpr int64_t kTwccReferenceTicks = 256;  // 64 ms
// Run lengths let four bytes describe 8,191 packets: more than this limit in one feedback is refused.
inline constexpr size_t kMaxFeedbackPackets = 8192;

class TransportFeedback {
  public:
    // `body`: the bytes after the two SSRCs. Nothing when its chunks do not cover the number of packets it declares, an
    // arrival time is missing, or there are more than kMaxFeedbackPackets.
    static std::optional<TransportFeedback> parse(uint32_t sender_ssrc, uint32_t media_ssrc,
                                                  std::span<const uint8_t> body);

    uint32_t sender_ssrc() const { return sender_ssrc_; }
    uint32_t media_ssrc() const { return media_ssrc_; }
    uint16_t base_sequence() const { return base_sequence_; }
    size_t packet_count() const { return packet_count_; }
    uint8_t feedback_count() const { return feedback_count_; }
    // In units of 64 ms, a signed 24-bit value.
    int32_t reference_time() const { return reference_time_; }

    // f(uint16_t sequence, std::optional<int64_t> arrival_us): the time is in the receiver's clock; nothing: not
    // received.
    template <class F>
    void for_each(F f) const {
        Cursor cursor(*this);
        int64_t ticks = reference_time_ * kTwccReferenceTicks;
        for (size_t i = 0; i < packet_count_; ++i) {
            auto sequence = static_cast<uint16_t>(base_sequence_ + i);
            std::optional<int> delta = cursor.next();
            if (delta) {
                ticks += *delta;
                f(sequence, std::optional<int64_t>(ticks * kTwccTickUs));
            } else {
                f(sequence, std::optional<int64_t>());
            }
        }
    }

  private:
    // Reads chunks and deltas in parallel.
    class Cursor {
      public:
        explicit Cursor(const TransportFeedback& feedback) : chunks_(feedback.chunks_), deltas_(feedback.deltas_) {}
        std::optional<int> next();
        bool ok() const { return ok_; }

      private:
        unsigned next_symbol();
        std::span<const uint8_t> chunks_, deltas_;
        uint16_t chunk_ = 0;
        unsigned left_ = 0;  // remaining symbols of the chunk
        bool ok_ = true;
    };
    TransportFeedback() = default;
    static std::optional<size_t> chunks_size(std::span<const uint8_t> body, size_t packets);

    uint32_t sender_ssrc_ = 0, media_ssrc_ = 0;
    uint16_t base_sequence_ = 0;
    uint16_t packet_count_ = 0;
    int32_t reference_time_ = 0;
    uint8_t feedback_count_ = 0;
    std::span<const uint8_t> chunks_, deltas_;
};

}  // namespace rtcp
