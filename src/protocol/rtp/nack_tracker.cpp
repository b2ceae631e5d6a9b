#include "protocol/rtp/nack_tracker.h"

#include <algorithm>
#include <utility>

namespace rtp {

bool NackTracker::on_packet(uint16_t sequence, int64_t now_ms) {
    std::optional<int64_t> newest = unwrapper_.newest();
    int64_t at = unwrapper_.unwrap(sequence);
    if (!newest) return true;
    if (at <= *newest) return is_restart(at) || take(at, now_ms);
    if (at > *newest + 1) add_gap(*newest + 1, at, now_ms);
    return true;
}

bool NackTracker::is_restart(int64_t sequence) {
    if (*unwrapper_.newest() - sequence < kMaxBack) return false;
    if (sequence != std::exchange(restart_at_, sequence + 1)) return false;
    restart();
    unwrapper_.unwrap(static_cast<uint16_t>(sequence));
    return true;
}

void NackTracker::restart() {
    restart_at_ = INT64_MIN;
    give_up_all();
    unwrapper_.reset();
}

void NackTracker::give_up_all() {
    if (!missing_.empty()) damage_ = true;
    counters_.given_up += missing_.size();
    missing_.clear();
}

bool NackTracker::is_ignored(int64_t now_ms) const {
    if (counters_.recovered > 0 || missing_.empty()) return false;
    const Missing& oldest = missing_.front();
    return oldest.tries >= 2 && now_ms - oldest.first_asked_ms >= kIgnoredMs;
}

void NackTracker::give_up() {
    options_.max_missing = 0;
    give_up_all();
}

bool NackTracker::awaits(uint16_t sequence) const {
    auto at = std::ranges::lower_bound(missing_, unwrapper_.peek(sequence), {}, &Missing::sequence);
    return at != missing_.end() && at->sequence == unwrapper_.peek(sequence) && at->tries > 0;
}

void NackTracker::add_gap(int64_t from, int64_t to, int64_t now_ms) {
    auto gap = static_cast<uint64_t>(to - from);
    counters_.lost += gap;
    if (missing_.size() + gap > options_.max_missing) {
        counters_.given_up += missing_.size() + gap;
        missing_.clear();
        damage_ = true;
        return;
    }
    for (int64_t s = from; s < to; ++s) missing_.push_back({s, now_ms, 0, 0, 0});
}

bool NackTracker::take(int64_t sequence, int64_t now_ms) {
    auto at = std::ranges::lower_bound(missing_, sequence, {}, &Missing::sequence);
    if (at == missing_.end() || at->sequence != sequence) return false;
    if (at->tries > 0) {
        ++counters_.recovered;
        learn_round_trip(*at, now_ms);
    }
    missing_.erase(at);
    return true;
}

// After several NACKs it is unknown which one was answered. The time since the first is used, with less weight:
// ignoring these packets would never detect a round trip that is longer than the interval.
void NackTracker::learn_round_trip(const Missing& answered, int64_t now_ms) {
    int64_t took = std::clamp<int64_t>(now_ms - answered.first_asked_ms, 0, kMaxRoundTripMs);
    round_trip_x8_ += (took * 8 - round_trip_x8_) / (answered.tries == 1 ? 8 : 32);
}

void NackTracker::give_up_old(int64_t now_ms) {
    size_t gone = std::erase_if(missing_, [&](const Missing& m) { return now_ms - m.since_ms >= options_.max_age_ms; });
    counters_.given_up += gone;
    if (gone > 0) damage_ = true;
}

std::span<const uint16_t> NackTracker::due(int64_t now_ms, int64_t round_trip_ms, std::span<uint16_t> out) {
    give_up_old(now_ms);
    // A margin for the variation of our own estimate.
    int64_t interval = round_trip_ms > 0 ? round_trip_ms : this->round_trip_ms() * 5 / 4;
    interval = std::max(interval, options_.min_interval_ms);
    size_t n = 0;
    for (Missing& m : missing_) {
        if (n == out.size()) break;
        if (m.tries >= options_.max_tries) continue;  // the answer to the last NACK may be on its way
        const int64_t after = m.tries <= kEvenTries ? interval : interval << (m.tries - kEvenTries);
        bool ripe = m.tries == 0 ? now_ms - m.since_ms >= options_.reorder_ms : now_ms - m.asked_ms >= after;
        if (!ripe) continue;
        if (m.tries == 0) m.first_asked_ms = now_ms;
        m.asked_ms = now_ms;
        ++m.tries;
        out[n++] = static_cast<uint16_t>(m.sequence);
    }
    counters_.asked += n;
    return out.first(n);
}

bool NackTracker::take_damage() { return std::exchange(damage_, false); }

}  // namespace rtp
