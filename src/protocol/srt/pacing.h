#pragma once
// Rates of sending: the interval of live congestion control (draft-sharabayko-srt, 5.1), a token bucket, and the rates
// that players are sent new data and repairs at. Times in us, rates in bytes per second.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "protocol/srt/sequence.h"

namespace srt {

// Of IP, UDP and SRT, as the draft counts them.
inline constexpr int64_t kPacketOverhead = 28 + kHeaderSize;

// Between two packets with so much payload. bytes_per_second: above 0.
inline constexpr int64_t live_interval_us(int64_t payload, int64_t bytes_per_second) {
    return std::max<int64_t>((payload + kPacketOverhead) * 1'000'000 / bytes_per_second, 1);
}

// Lets `burst` bytes pass at once and then `rate` bytes per second; the last packet may exceed it. The caller passes
// the same rate and burst (above 0) each time, or others from some moment on.
class TokenBucket {
  public:
    struct Limit {
        int64_t rate, burst;
    };
    // When a packet may be sent; now_us or before: now.
    int64_t ready_us(const Limit& limit) const {
        if (drained_us_ == kFull) return drained_us_;
        return drained_us_ - limit.burst * 1'000'000 / limit.rate;
    }
    void take(int64_t now_us, int64_t bytes, const Limit& limit) {
        drained_us_ = std::max(drained_us_, now_us) + bytes * 1'000'000 / limit.rate;
    }

  private:
    static constexpr int64_t kFull = INT64_MIN / 2;
    int64_t drained_us_ = kFull;  // when all that was sent would have been sent at the rate
};

// What holds for all players of a stream; it may change at any time.
struct SendPolicy {
    int64_t stream_rate = 0;            // of the media, measured
    int64_t max_rate = 0;               // maxbw; 0: none
    int64_t burst_percent = 300;        // of the stream's rate: what is late or lies ready is sent at
    int64_t min_rate = 10'000'000 / 8;  // but not slower than this
    int64_t burst_ms = 125;             // of the stream is sent together, as one batch
    int64_t min_burst_bytes = 16 * 1360, max_burst_bytes = 43 * 1360;  // but so much: a message to the kernel
    int64_t repair_percent = 50;                                       // of the stream's rate: repairs
    int64_t min_repair_rate = 1'000'000 / 8;

    // Of new data.
    TokenBucket::Limit data_limit() const {
        const int64_t rate = std::max(stream_rate * burst_percent / 100, min_rate);
        return {std::max<int64_t>(max_rate > 0 ? std::min(rate, max_rate) : rate, 1000), burst_bytes()};
    }
    int64_t burst_bytes() const { return std::clamp(stream_rate * burst_ms / 1000, min_burst_bytes, max_burst_bytes); }
    TokenBucket::Limit repair_limit() const {
        const int64_t rate = std::max<int64_t>({stream_rate * repair_percent / 100, min_repair_rate, 1000});
        return {rate, std::max<int64_t>(rate / 2, min_burst_bytes)};
    }
};

}  // namespace srt
