#pragma once
// The round-trip time and its variation in us (draft-sharabayko-srt, 4.10), of a connection's own measurements or of
// the peer's reports. Also the meter of packets and bytes per second.

#include <algorithm>
#include <cstdint>

namespace srt {

class RoundTrip {
  public:
    static constexpr int64_t kMaxUs = 10'000'000;

    int64_t us() const { return us_; }
    int64_t variation_us() const { return variation_us_; }
    bool is_measured() const { return measured_; }
    // After this time an answer is overdue.
    int64_t overdue_us() const { return us_ + 4 * int64_t{variation_us_}; }

    void add_sample(int64_t sample_us) {
        const auto sample = static_cast<int32_t>(std::clamp<int64_t>(sample_us, 1, kMaxUs));
        if (!measured_) {
            us_ = sample;
            variation_us_ = sample / 2;
        } else {
            variation_us_ += (std::abs(sample - us_) - variation_us_) / 4;
            us_ += (sample - us_) / 8;
        }
        measured_ = true;
    }
    // What the peer measured, which only a side that does not receive data takes over. Impossible values are ignored.
    void set(uint32_t us, uint32_t variation_us) {
        if (us == 0 || us > kMaxUs) return;
        us_ = static_cast<int32_t>(us);
        variation_us_ = static_cast<int32_t>(std::min<int64_t>(variation_us, kMaxUs));
        measured_ = true;
    }

  private:
    int32_t us_ = 100'000, variation_us_ = 50'000;
    bool measured_ = false;
};

// Packets and bytes per second, of the last period of about a second that is complete.
class RateMeter {
  public:
    void add(int64_t now_us, size_t bytes) {
        if (now_us - since_us_ >= kPeriodUs) roll(now_us);
        ++packets_;
        bytes_ += static_cast<uint32_t>(bytes);
    }
    uint32_t packets_per_second() const { return packets_per_second_; }
    uint32_t bytes_per_second() const { return bytes_per_second_; }

  private:
    static constexpr int64_t kPeriodUs = 1'000'000;
    void roll(int64_t now_us) {
        if (since_us_ != 0) {
            const int64_t took = now_us - since_us_;
            packets_per_second_ = static_cast<uint32_t>(int64_t{packets_} * kPeriodUs / took);
            bytes_per_second_ = static_cast<uint32_t>(int64_t{bytes_} * kPeriodUs / took);
        }
        since_us_ = now_us;
        packets_ = bytes_ = 0;
    }
    int64_t since_us_ = 0;
    uint32_t packets_ = 0, bytes_ = 0;
    uint32_t packets_per_second_ = 0, bytes_per_second_ = 0;
};

}  // namespace srt
