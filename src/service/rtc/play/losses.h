#pragma once
// Losses: whether a viewer's network loses packets, by its reports, or by what it asks for again. A single report of
// losses tells nothing. Pure.

#include <cstdint>

namespace service::rtc {

class Losses {
  public:
    // fraction_lost: of 256.
    void on_report(uint32_t fraction_lost, int64_t now_ms) {
        if (fraction_lost < kLoss || now_ms < apart_from_ms_) return;
        if (now_ms < again_until_ms_) confirmed_ms_ = now_ms;
        again_until_ms_ = now_ms + kAgainMs;
        apart_from_ms_ = now_ms + kApartMs;
    }
    void on_request(int64_t now_ms) { on_report(kLoss, now_ms); }
    // The last two reports of losses are near to each other, and the last is not older than that.
    bool within(int64_t ms, int64_t now_ms) const { return confirmed_ms_ > 0 && now_ms - confirmed_ms_ < ms; }

  private:
    static constexpr uint32_t kLoss = 2;  // of 256
    static constexpr int64_t kAgainMs = 10'000;
    static constexpr int64_t kApartMs = 200;  // what comes sooner is of the same losses

    int64_t again_until_ms_ = 0, apart_from_ms_ = 0, confirmed_ms_ = 0;
};

}  // namespace service::rtc
