#pragma once
// SendCredit: how many bytes of video a viewer may be sent now, where its link takes less than there is: they are
// earned by time, at a rate. Pure.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace service::rtc {

class SendCredit {
  public:
    explicit SendCredit(int64_t now_us) : refilled_us_(now_us) {}

    // Bytes are earned since the last time.
    void refill(uint32_t kbps, int64_t now_us) {
        const int64_t bytes = (now_us - refilled_us_) * kbps / 8'000;
        if (bytes <= 0) return;
        refilled_us_ = now_us;
        credit_ = std::min(credit_ + bytes, std::max(kLeastBurst, kBurstMs * kbps / 8));
    }
    // The link has to send for so long, before it gets more video.
    void pause(uint32_t kbps, uint32_t ms) { credit_ = std::min(credit_, -int64_t{kbps} * ms / 8); }
    void spend(size_t bytes) { credit_ -= static_cast<int64_t>(bytes); }
    bool may_send() const { return credit_ > 0; }
    // Ahead of new video, which is of no use while a packet before it is missing.
    bool may_retransmit(uint32_t kbps) const { return credit_ > -kDebtMs * kbps / 8; }

  private:
    // What may be saved: the packets of so long.
    static constexpr int64_t kBurstMs = 40, kLeastBurst = 3'000;
    static constexpr int64_t kDebtMs = 100;  // by retransmissions; new video waits for it

    int64_t credit_ = 0;  // bytes
    int64_t refilled_us_;
};

}  // namespace service::rtc
