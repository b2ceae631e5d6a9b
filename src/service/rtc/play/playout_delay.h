#pragma once
// PlayoutDelay: how long a viewer is asked to hold video frames back, so that a lost packet can be sent again before
// its frame is due. Browsers follow the jitter of packets, but only slowly what retransmissions take: at a round trip
// of 300 ms each loss is a freeze. From the viewer's reports; 0 while nothing is lost. Pure.

#include <algorithm>
#include <cstdint>

namespace service::rtc {

class PlayoutDelay {
  public:
    struct Report {
        bool is_lossy = false;       // losses.h
        uint32_t round_trip_ms = 0;  // 0: not known
        uint32_t jitter_ms = 0;
    };
    // most_ms: it is never longer; 0: there is none.
    explicit PlayoutDelay(int most_ms) : most_ms_(static_cast<uint16_t>(most_ms)) {}

    // True: ms() has changed.
    bool on_report(const Report& report, int64_t now_ms) {
        // Audio follows the video, and moves slowly: a small change is not worth it.
        const uint32_t wanted = wanted_ms(report);
        if (report.is_lossy && wanted > ms_ + kStepMs) return change(wanted, now_ms);
        const bool is_more = !report.is_lossy || wanted < ms_;
        if (ms_ == 0 || !is_more || now_ms - changed_ms_ < kShorterEveryMs) return false;
        const uint32_t shorter = ms_ - ms_ / kShorterBy;
        return change(shorter < kLeastMs ? 0 : shorter, now_ms);
    }
    uint16_t ms() const { return ms_; }

  private:
    static constexpr uint32_t kBaseMs = 50;  // until a loss is noticed, and for what decoding takes
    static constexpr uint32_t kTrips = 2;    // a retransmission may be lost too
    static constexpr uint32_t kStepMs = 20, kLeastMs = 40;
    static constexpr int64_t kShorterEveryMs = 10'000;
    static constexpr uint32_t kShorterBy = 10;  // a tenth

    uint32_t wanted_ms(const Report& report) const {
        return std::min<uint32_t>(most_ms_, kBaseMs + kTrips * report.round_trip_ms + report.jitter_ms);
    }
    bool change(uint32_t ms, int64_t now_ms) {
        changed_ms_ = now_ms;
        ms_ = static_cast<uint16_t>(ms);
        return true;
    }

    uint16_t most_ms_;
    uint16_t ms_ = 0;
    int64_t changed_ms_ = 0;
};

}  // namespace service::rtc
