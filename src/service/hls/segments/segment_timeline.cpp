#include "service/hls/segments/segment_timeline.h"

#include <algorithm>
#include <utility>

namespace service::hls {

void SegmentTimeline::begin() {
    longest_ms_ = 0;
    for (Id id = listed(); id < end(); ++id) longest_ms_ = std::max(longest_ms_, at(id).duration_ms);
}

SegmentTimeline::Id SegmentTimeline::add(Segment segment, int64_t now_ms) {
    longest_ms_ = std::max(longest_ms_, segment.duration_ms);
    segment.added_ms = now_ms;
    segment.discontinuity |= std::exchange(breaks_, false);
    segments_.push_back({segment});
    while (end() - listed() > kMinSegments && first_is_over(now_ms)) leave(now_ms);
    return end() - 1;
}

bool SegmentTimeline::first_is_over(int64_t now_ms) const {
    if (end() - listed() > options_.max_segments) return true;
    const Segment& first = at(listed());
    if (first.added_ms > 0 && now_ms - first.added_ms > kMaxWindows * options_.window_ms) return true;
    const int64_t all_ms = listed_ms();
    return all_ms > options_.window_ms && all_ms - first.duration_ms >= kMinTargets * target_s() * 1'000;
}

// A segment stays until a player with the newest playlist that names it has played it.
void SegmentTimeline::leave(int64_t now_ms) {
    Row& row = segments_[left_];
    row.until_ms = now_ms + row.segment.duration_ms + listed_ms();
    ++left_;
}

void SegmentTimeline::recover(uint64_t media_sequence, uint64_t discontinuity_sequence,
                              const std::deque<Segment>& segments) {
    const bool any_of_this_run = !segments_.empty();
    base_ = media_sequence + segments.size();
    for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) segments_.push_front({*segment});
    kept_ -= segments.size();
    discontinuities_ = discontinuity_sequence;
    begin();
    // They have nothing to do with each other.
    const bool any_before = base_ > 0;
    if (any_of_this_run)
        segments_[segments.size()].segment.discontinuity |= any_before;
    else
        breaks_ |= any_before;
}

void SegmentTimeline::skip_to(uint64_t sequence) {
    if (kept_ == kFirstId) base_ = std::max(base_, sequence);
}

void SegmentTimeline::expire(int64_t now_ms, bool all) {
    while (all && !empty()) leave(now_ms);
    while (left_ > 0 && (all || segments_.front().until_ms <= now_ms || left_ > options_.max_segments)) {
        discontinuities_ += segments_.front().segment.discontinuity ? 1 : 0;
        segments_.pop_front();
        ++kept_;
        --left_;
    }
}

uint64_t SegmentTimeline::discontinuities(Id id) const {
    const auto first = segments_.begin(), last = first + static_cast<ptrdiff_t>(std::min(id, end()) - kept_);
    return discontinuities_ +
           static_cast<uint64_t>(std::count_if(first, last, [](const Row& row) { return row.segment.discontinuity; }));
}

int64_t SegmentTimeline::listed_ms() const {
    int64_t sum = 0;
    for (Id id = listed(); id < end(); ++id) sum += at(id).duration_ms;
    return sum;
}

int64_t SegmentTimeline::target_s() const { return (std::max(longest_ms_, options_.target_ms) + 999) / 1000; }

}  // namespace service::hls
