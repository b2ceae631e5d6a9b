#pragma once
// LinkHistory: a viewer's link during the last minutes, a quarter of a minute each. Only viewers that lose packets, or
// are not sent all of the stream, have one, until all of it is good again. Pure.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "net/sessions/session_view.h"

namespace service::rtc {

class LinkHistory {
  public:
    static constexpr int64_t kEveryMs = 15'000;
    static constexpr size_t kEntries = 16;
    static constexpr uint32_t kLoss = 2;  // of 256; less is nothing

    struct Entry {
        uint16_t estimate_kbps = 0, rtt_ms = 0;
        uint8_t lost = 0;  // of 256
        net::RtcSent sent = net::RtcSent::kAll;

        bool is_good() const { return sent == net::RtcSent::kAll && lost < kLoss; }
    };

    explicit LinkHistory(int64_t now_ms) : since_ms_(now_ms) {}

    // How it is now. Several times in kEveryMs.
    void see(net::RtcSent sent, uint32_t estimate_kbps, uint32_t rtt_ms, uint32_t lost, int64_t now_ms) {
        if (now_ms - since_ms_ >= kEveryMs) {
            since_ms_ = now_ms;
            newest_ = (newest_ + 1) % kEntries;
            count_ = std::min(count_ + 1, kEntries);
            entries_[newest_] = {};
        }
        Entry& now = entries_[newest_];
        now.sent = std::max(now.sent, sent);
        now.estimate_kbps = fit<uint16_t>(estimate_kbps);
        now.rtt_ms = std::max(now.rtt_ms, fit<uint16_t>(rtt_ms));
        now.lost = std::max(now.lost, fit<uint8_t>(lost));
    }
    // Nothing is left to tell.
    bool is_good() const { return count_ == kEntries && std::ranges::all_of(entries_, &Entry::is_good); }
    size_t size() const { return count_; }
    // 0: the oldest.
    const Entry& at(size_t i) const { return entries_[(newest_ + kEntries + 1 - count_ + i) % kEntries]; }

  private:
    template <class T>
    static T fit(uint32_t value) {
        return static_cast<T>(std::min<uint32_t>(value, std::numeric_limits<T>::max()));
    }

    int64_t since_ms_;
    size_t newest_ = 0, count_ = 1;
    std::array<Entry, kEntries> entries_{};
};

}  // namespace service::rtc
