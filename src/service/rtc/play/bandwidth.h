#pragma once
// Bandwidth: what the link to one viewer takes, by its feedback: whether less than the stream, and how much. Pure.
//
//  - REMB (draft-alvestrand-rmcat-remb) is the viewer's own estimate by times of arrival, about 0.85 of what arrives
//    once a queue grows. A browser that is busy reports the same, so that it is a suspicion when it falls below what is
//    sent. One that is low and rises is none: after a time in which less was sent it follows for half a minute.
//  - Then a round trip is measured. If a queue has made it longer, or the estimate falls again and again, the link is
//    short. Where a smaller layer of simulcast can be sent, a single fall by a quarter is enough: by then the queue of
//    the link is full, and each packet more is lost.
//  - Random loss is not congestion. Of a viewer without REMB, or with one below what is sent, losses and a long queue
//    together say so, for a trial: both end where less is sent over a link that is short. Where they stay, it was
//    random loss on a way whose delay varies, or a client that is busy: the trial ends, and the next one is a minute
//    later at the earliest. What that way delays is no sign of a queue then.
//  - While it is short each fall of REMB with a queue, and a lasting queue, makes the estimate lower. It follows REMB
//    up, and rises without it kQuietMs later.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace service::rtc {

class Bandwidth {
  public:
    static constexpr uint32_t kLeastKbps = 50, kMostKbps = 1'000'000;

    // With each feedback: what was sent to the viewer, and what the stream had, in bytes since the beginning.
    void on_sent(uint64_t sent_bytes, uint64_t stream_bytes, int64_t now_ms) {
        const int64_t ms = now_ms - rated_ms_;
        if (ms < kRateMs) return;
        if (rated_ms_ > 0) {
            sent_before_kbps_ = sent_kbps_;
            sent_kbps_ = kbps_of(static_cast<uint32_t>(sent_bytes) - rated_sent_, ms);
            const uint32_t stream = kbps_of(static_cast<uint32_t>(stream_bytes) - rated_stream_, ms);
            stream_kbps_ = stream_kbps_ == 0 ? stream : (3 * stream_kbps_ + stream) / 4;
        }
        rated_ms_ = now_ms;
        rated_sent_ = static_cast<uint32_t>(sent_bytes);
        rated_stream_ = static_cast<uint32_t>(stream_bytes);
    }
    // has_layers: less can be sent without a loss of frames, so that a false alarm costs little.
    void on_remb(uint64_t bits_per_second, bool has_layers, int64_t now_ms) {
        const auto kbps = static_cast<uint32_t>(std::min<uint64_t>(bits_per_second / 1000, UINT32_MAX));
        const uint32_t before = remb_kbps_;
        const bool falls = before == 0 || kbps < before - before / 25;
        remb_kbps_ = kbps;
        remb_ms_ = now_ms;
        if (short_) {
            if (falls && kbps < kbps_ && queue_ms_ >= kSomeQueueMs) lower_further(now_ms, 0);
        } else if (falls && kbps < std::max(sent_kbps_, sent_before_kbps_) / 10 * 9) {
            falls_ = static_cast<uint8_t>(now_ms < suspected_until_ms_ ? falls_ + 1 : 1);
            suspected_until_ms_ = now_ms + kSuspectedMs;
            const bool falls_far = kbps < before / 4 * 3;
            if (falls_ >= kFalls || (has_layers && falls_far)) begin(std::min(kbps, sent_kbps_), now_ms);
        }
    }
    // A new one, of the viewer's report, with the losses that it tells, of 256.
    void on_round_trip(uint32_t ms, uint32_t fraction_lost, int64_t now_ms) {
        // It follows a longer way slowly.
        base_ms_ = base_ms_ == 0 ? ms : std::min(ms, base_ms_ + 1);
        const uint32_t queue_before_ms = queue_ms_;
        queue_ms_ = ms - base_ms_;
        no_queue_ms_ -= std::min(no_queue_ms_, queue_ms_ < no_queue_ms_ / 2 ? no_queue_ms_ / 16 + 1 : 1);
        queue_ms_ -= std::min(queue_ms_, no_queue_ms_);
        if (short_ && short_->trial.lost > 0) return on_trial(fraction_lost, now_ms);
        const uint32_t lost = fraction_lost < kManyLost || queue_ms_ < kLongQueueMs ? 0 : std::min(fraction_lost, 255u);
        const uint32_t lost_before = std::exchange(lost_, static_cast<uint8_t>(lost));
        if (queue_ms_ < kQueueMs) return;
        if (short_) {
            drain(now_ms);
            if (queue_before_ms >= kQueueMs) lower_further(now_ms, queue_before_ms);
        } else if (now_ms < suspected_until_ms_) {
            begin(std::min(remb_kbps_, sent_kbps_), now_ms);
        } else if (std::min(lost, lost_before) > 0 && may_try(now_ms)) {
            const uint32_t both = (lost + lost_before) / 2;
            begin(static_cast<uint32_t>(uint64_t{sent_kbps_} * (256 - both) * 9 / 2560), now_ms);
            short_->trial.lost = static_cast<uint8_t>(both);
        }
    }
    // The link takes so much, whatever is measured in that time: it is the trace of a probe.
    void keep(uint32_t kbps, int64_t ms, int64_t now_ms) {
        short_ = std::make_unique<Short>();
        falls_ = lost_ = 0;
        lower(kbps, now_ms);
        short_->began_ms = short_->raised_ms = now_ms;
        short_->kept_until_ms = now_ms + ms;
        short_->kept_kbps = kbps_;
    }
    // Now and then, while it is short.
    void tick(int64_t now_ms) {
        if (!short_) return;
        const int64_t quiet_ms = now_ms - short_->lowered_ms;
        const bool follows = kbps_ < remb_kbps_;
        if (now_ms - short_->raised_ms < kRaiseEveryMs || (quiet_ms < kQuietMs && !follows)) return;
        short_->raised_ms = now_ms;
        const uint32_t by = quiet_ms < kQuietMs ? kFollowBy : quiet_ms < 2 * kQuietMs ? kRaiseBy : kRaiseMoreBy;
        kbps_ = std::min(kbps_ + std::max<uint32_t>(1, kbps_ / by), kMostKbps);
        if (stream_kbps_ > 0 && kbps_ > stream_kbps_ / 10 * 12) short_.reset();
    }
    // So long the link has to send still, before it gets more video; 0: nothing new is known of that.
    uint32_t take_queue_ms() { return short_ ? std::exchange(short_->to_drain_ms, 0) : 0; }

    // Whether a round trip should be measured soon.
    bool wants_round_trip(int64_t now_ms) const { return short_ || now_ms < suspected_until_ms_; }
    // Without the queue of a link that is short.
    uint32_t round_trip_ms(uint32_t measured_ms) const {
        return short_ ? std::min(measured_ms, base_ms_) : measured_ms;
    }
    bool has_queue() const { return queue_ms_ >= kQueueMs; }
    bool is_short() const { return short_ != nullptr; }
    uint32_t kbps() const { return kbps_; }            // while it is short, and what is sent after that till it is over
    uint32_t remb_kbps() const { return remb_kbps_; }  // 0: none was received

  private:
    static constexpr int64_t kRateMs = 300, kSuspectedMs = 1'000, kLowerEveryMs = 500, kQuietMs = 2'000;
    static constexpr int64_t kRaiseEveryMs = 500;
    static constexpr uint32_t kFollowBy = 28, kRaiseBy = 14, kRaiseMoreBy = 7;  // 7, 15 and 30 % a second
    static constexpr uint8_t kFalls = 3;
    static constexpr uint32_t kQueueMs = 60, kSomeQueueMs = 20, kLongQueueMs = 100, kMostQueueMs = 1'000;
    static constexpr uint32_t kFullQueueMs = 200;
    static constexpr int64_t kFullMs = 1'000;  // after the begin; what was sent before is gone then
    static constexpr uint32_t kManyLost = 13;  // of 256
    static constexpr int64_t kNoRembMs = 5'000;
    // From the first on reports are of what was sent since the trial began.
    static constexpr int64_t kTrialFromMs = 1'500, kTrialMs = 3'000, kDistrustMs = 60'000;

    struct Trial {
        uint8_t lost = 0;  // of 256, that began it; 0: there is none
        uint16_t reports = 0, unchanged = 0;
        uint32_t longest_queue_ms = 0;
    };
    // What is only needed while the link is short.
    struct Short {
        int64_t began_ms = 0, lowered_ms = 0, raised_ms = 0, drained_ms = 0;
        uint32_t to_drain_ms = 0;
        uint32_t kept_kbps = 0;  // not less than that
        int64_t kept_until_ms = 0;
        Trial trial;
    };

    static uint32_t kbps_of(uint32_t bytes, int64_t ms) {
        return static_cast<uint32_t>(uint64_t{bytes} * 8 / static_cast<uint64_t>(ms));
    }
    void begin(uint32_t kbps, int64_t now_ms) {
        short_ = std::make_unique<Short>();
        falls_ = lost_ = 0;
        // What the viewer has measured is in part of before.
        lower(kbps / 8 * 7, now_ms);
        short_->began_ms = short_->raised_ms = now_ms;
        if (queue_ms_ >= kQueueMs) drain(now_ms);
    }
    bool may_try(int64_t now_ms) const {
        const bool tells = remb_kbps_ > sent_kbps_ / 10 * 9 && now_ms - remb_ms_ < kNoRembMs;
        return !tells && now_ms >= trusts_losses_from_ms_ && sent_kbps_ > 0;
    }
    void on_trial(uint32_t fraction_lost, int64_t now_ms) {
        Trial& trial = short_->trial;
        trial.longest_queue_ms = std::max(trial.longest_queue_ms, queue_ms_);
        const int64_t ms = now_ms - short_->began_ms;
        if (ms < kTrialFromMs) return;
        ++trial.reports;
        trial.unchanged += fraction_lost >= trial.lost / 2u || queue_ms_ >= kLongQueueMs;
        if (trial.reports < 2 || ms < kTrialMs) return;
        const uint32_t longest_queue_ms = trial.longest_queue_ms;
        const bool is_short = 2 * trial.unchanged < trial.reports;
        trial = {};
        if (is_short) return;
        trusts_losses_from_ms_ = now_ms + kDistrustMs;
        no_queue_ms_ = std::min(no_queue_ms_ + std::min(longest_queue_ms, kMostQueueMs), kMostQueueMs);
        queue_ms_ = 0;
        short_.reset();
        // What was held back is sent soon.
        kbps_ = std::min(2 * std::max(stream_kbps_, kbps_), kMostKbps);
    }
    // Feedback of before the last time says nothing of what is sent since; during a trial it may be wrong. A long queue
    // that does not become shorter is of a link that takes less than what is sent, whatever the estimate.
    void lower_further(int64_t now_ms, uint32_t queue_before_ms) {
        if (short_->trial.lost > 0 || now_ms - short_->lowered_ms < kLowerEveryMs) return;
        const bool stays = queue_before_ms >= kFullQueueMs && queue_ms_ + kSomeQueueMs >= queue_before_ms &&
                           now_ms - short_->began_ms >= kFullMs;
        lower((stays ? std::min(kbps_, sent_kbps_) : kbps_) / 8 * 7, now_ms);
    }
    // A queue that is measured again meanwhile is the same one.
    void drain(int64_t now_ms) {
        if (now_ms - short_->drained_ms < kLowerEveryMs) return;
        short_->drained_ms = now_ms;
        short_->to_drain_ms = std::min(queue_ms_, kMostQueueMs);
    }
    void lower(uint32_t kbps, int64_t now_ms) {
        kbps_ = std::max(kbps, now_ms < short_->kept_until_ms ? short_->kept_kbps : kLeastKbps);
        short_->lowered_ms = now_ms;
    }

    int64_t rated_ms_ = 0, suspected_until_ms_ = 0, remb_ms_ = 0, trusts_losses_from_ms_ = 0;
    std::unique_ptr<Short> short_;  // null: it is not
    uint32_t rated_sent_ = 0, rated_stream_ = 0;
    uint32_t sent_kbps_ = 0, sent_before_kbps_ = 0, stream_kbps_ = 0, remb_kbps_ = 0, kbps_ = 0;
    uint32_t base_ms_ = 0, queue_ms_ = 0;
    uint32_t no_queue_ms_ = 0;  // delays of a false alarm; what is beyond them is a queue
    uint8_t falls_ = 0;         // of REMB, while it is suspected
    uint8_t lost_ = 0;          // of 256, with a long queue, by the last report
};

}  // namespace service::rtc
