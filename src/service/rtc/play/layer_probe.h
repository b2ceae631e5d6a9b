#pragma once
// LayerProbe: whether a viewer's link takes a larger layer of simulcast, found out before it is sent. For a moment the
// viewer is sent as much more, by retransmissions of what it has; if a queue grows, the link takes less. The first
// pulse is so short that the queue of a link that takes far less grows by some 100 ms; the second one shows it of a
// link that takes almost enough. A queue is seen by the round trip of a report behind the pulse. Pure.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace service::rtc {

class LayerProbe {
  public:
    // kbps: beside what is sent anyway.
    LayerProbe(uint32_t kbps, int64_t now_ms) : kbps_(kbps), began_ms_(now_ms) {}

    // Bytes that are to be sent now, while is_sending().
    size_t due(int64_t now_ms) const {
        const int64_t ms = std::clamp<int64_t>(now_ms - began_ms_, 0, pulse_ms());
        const auto bytes = static_cast<size_t>(ms) * kbps_ / 8;
        return bytes - std::min(bytes, sent_);
    }
    void on_sent(size_t bytes) { sent_ += bytes; }
    // True once a pulse is over: a report has to follow it at once.
    bool ends_pulse(int64_t now_ms) {
        if (!is_sending_ || now_ms - began_ms_ < pulse_ms()) return false;
        is_sending_ = false;
        ended_ms_ = now_ms;
        return true;
    }
    bool is_sending() const { return is_sending_; }

    enum class Result : uint8_t { kOpen, kNextPulse, kPassed, kFailed };
    // answered: a round trip was measured by that report, or a later one.
    Result result(bool answered, bool has_queue, int64_t now_ms) const {
        if (is_sending_) return Result::kOpen;
        if (answered && has_queue) return Result::kFailed;
        const int64_t ms = now_ms - ended_ms_;
        if (!answered && ms < kAnswerMs) return Result::kOpen;
        if (pulse_ == 0) return Result::kNextPulse;
        return ms < kSettleMs ? Result::kOpen : Result::kPassed;
    }
    void begin_next_pulse(int64_t now_ms) {
        ++pulse_;
        is_sending_ = true;
        began_ms_ = now_ms;
        sent_ = 0;
    }

  private:
    static constexpr int64_t kPulseMs[] = {50, 300};
    // A client that does not report within that time is taken for one without a queue.
    static constexpr int64_t kAnswerMs = 900;
    // The estimate of the client falls by then.
    static constexpr int64_t kSettleMs = 400;

    int64_t pulse_ms() const { return kPulseMs[pulse_]; }

    uint32_t kbps_;
    uint8_t pulse_ = 0;
    bool is_sending_ = true;
    size_t sent_ = 0;  // bytes of this pulse
    int64_t began_ms_, ended_ms_ = 0;
};

}  // namespace service::rtc
