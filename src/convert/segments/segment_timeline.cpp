#include "convert/segments/segment_timeline.h"

#include <algorithm>
#include <utility>

#include "base/result.h"

namespace convert {

namespace {

int64_t rounded_s(media::Time duration) { return media::to_ticks(duration, 1); }

}  // namespace

void SegmentTimeline::begin(bool anew) {
    if (!std::exchange(continues_, false)) clock_.reset();
    if (anew) target_s_ = 0;
}

void SegmentTimeline::open(Segment segment) {
    segment.discontinuity |= std::exchange(breaks_, false);
    segment.first_part = next_part_;
    set_date(segment);
    open_ = std::move(segment);
}

uint64_t SegmentTimeline::end_part(const Part& part) {
    open_->parts.push_back(part);
    return next_part_++;
}

void SegmentTimeline::abandon() {
    CHECK(open_ && open_->parts.empty());
    breaks_ |= open_->discontinuity;
    open_.reset();
}

SegmentTimeline::Id SegmentTimeline::close(media::Time duration, int64_t now_ms) {
    open_->duration = duration;
    open_->added_ms = now_ms;
    date_end_ms_ = std::max(date_end_ms_, open_->date_ms + media::to_ms(duration));
    segments_.push_back({*std::exchange(open_, std::nullopt)});
    if (target_s_ == 0 || options_.grows) choose_target();
    drop_old_parts();
    while (end() - listed() > kMinSegments && first_is_over(now_ms)) leave(1, now_ms);
    return end() - 1;
}

bool SegmentTimeline::first_is_over(int64_t now_ms) const {
    if (end() - listed() > options_.max_segments) return true;
    const Segment& first = at(listed());
    if (first.added_ms > 0 && now_ms - first.added_ms > kMaxWindows * options_.window_ms) return true;
    const media::Time all = listed_length();
    return all > media::from_ms(options_.window_ms) &&
           all - first.duration >= kMinTargets * std::chrono::seconds(target_s());
}

void SegmentTimeline::choose_target() {
    target_s_ = std::max(target_s_, configured_s());
    for (Id id = listed(); id < end(); ++id) target_s_ = std::max(target_s_, rounded_s(at(id).duration));
}

bool SegmentTimeline::raise_target(int64_t target_s) {
    if (!options_.grows || target_s_ == 0 || target_s_ >= target_s) return false;
    target_s_ = target_s;
    return true;
}

void SegmentTimeline::set_date(Segment& segment) {
    if (segment.discontinuity || !clock_) clock_ = {segment.start, std::max(segment.date_ms, date_end_ms_)};
    segment.clock = *clock_;
    segment.date_ms = clock_->wall_ms + media::to_ms(segment.start - clock_->start);
}

// Those that end further than so many target durations before the end.
void SegmentTimeline::drop_old_parts() {
    media::Time behind{};
    Id id = end();
    while (id > kept_ && behind <= kPartTargets * std::chrono::seconds(target_s())) behind += at(--id).duration;
    // What is older than the first one that has none was dropped before.
    while (id > kept_ && !at(id - 1).parts.empty()) {
        Segment& segment = segments_[--id - kept_].segment;
        parts_kept_ = std::max(parts_kept_, segment.first_part + segment.parts.size());
        std::vector<Part>().swap(segment.parts);
    }
}

// A segment stays until a player with the newest playlist that names it has played it.
void SegmentTimeline::leave(size_t count, int64_t now_ms) {
    media::Time listed = listed_length();
    for (; count > 0 && !empty(); --count, ++left_) {
        Row& row = segments_[left_];
        const media::Time duration = row.segment.duration;
        row.until_ms = now_ms + std::max(media::to_ms(duration + listed), options_.kept_ms);
        listed -= duration;
    }
}

void SegmentTimeline::recover(const LeftTimeline& left, int64_t now_ms) {
    base_ = left.media_sequence + left.segments.size();
    for (auto segment = left.segments.rbegin(); segment != left.segments.rend(); ++segment)
        segments_.push_front({*segment});
    kept_ -= left.segments.size();
    discontinuities_ = left.discontinuity_sequence;
    choose_target();
    target_s_ = std::max(target_s_, left.target_s);
    independent_ &= left.independent;
    if (!left.segments.empty()) {
        const Segment& last = left.segments.back();
        date_end_ms_ = std::max(date_end_ms_, last.date_ms + media::to_ms(last.duration));
    }
    leave(left.left, now_ms);
    if (left.parts_kept > 0) parts_kept_ = left.parts_kept;
    // They have nothing to do with each other.
    if (!left.continuation) {
        breaks_ |= base_ > 0;
        return;
    }
    breaks_ |= left.continuation->breaks;
    continues_ = true;
    if (left.continuation->clock.wall_ms > 0) clock_ = left.continuation->clock;
    if (left.continuation->first_part > 0) next_part_ = left.continuation->first_part;
}

LeftTimeline SegmentTimeline::left_before(Id end) const {
    const Id first = std::min(std::max(kept_, jump_at_), end);
    LeftTimeline left{.media_sequence = sequence(first),
                      .discontinuity_sequence = discontinuities(first),
                      .target_s = target_s_,
                      .independent = independent_,
                      .part_target = part_target_,
                      .left = std::min(std::max(listed(), first), end) - first,
                      .parts_kept = parts_kept_};
    for (Id id = first; id < end; ++id) left.segments.push_back(at(id));
    return left;
}

void SegmentTimeline::break_off(uint64_t parts) {
    breaks_ = true;
    next_part_ += parts;
}

void SegmentTimeline::skip_to(uint64_t sequence) {
    if (kept_ == kFirstId) base_ = std::max(base_, sequence);
}

ListPosition SegmentTimeline::position() const {
    return {sequence(end()), discontinuities(end()) + (open_->discontinuity ? 1 : 0), target_s_, open_->date_ms};
}

void SegmentTimeline::continue_at(const ListPosition& position, int64_t now_ms) {
    target_s_ = std::max(target_s_, position.target_s);
    clock_ = {open_->start, std::max(position.date_ms, date_end_ms_)};
    open_->date_ms = clock_->wall_ms;
    const ListPosition own = this->position();
    if (position.sequence == own.sequence && position.discontinuities == own.discontinuities) return;
    leave(segments_.size(), now_ms);
    base_ += jump_;
    jump_at_ = end();
    jump_ = std::max(position.sequence, own.sequence) - own.sequence;
    open_->discontinuity = false;
    discontinuities_ += position.discontinuities - discontinuities(end());
}

void SegmentTimeline::expire(int64_t now_ms, bool all) {
    if (all) leave(segments_.size(), now_ms);
    const auto is_over = [&](const Row& row) {
        return row.until_ms <= now_ms && segments_.size() > options_.kept_segments;
    };
    while (left_ > 0 && (all || is_over(segments_.front()) || left_ > options_.max_segments)) {
        const Segment& first = segments_.front().segment;
        discontinuities_ += first.discontinuity ? 1 : 0;
        if (!first.parts.empty()) parts_kept_ = std::max(parts_kept_, first.first_part + first.parts.size());
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

media::Time SegmentTimeline::listed_length() const {
    media::Time sum{};
    for (Id id = listed(); id < end(); ++id) sum += at(id).duration;
    return sum;
}

int64_t SegmentTimeline::target_s() const { return target_s_ > 0 ? target_s_ : configured_s(); }

std::optional<media::Time> SegmentTimeline::longest() const {
    if (options_.grows || (target_s_ == 0 && !options_.fixed)) return std::nullopt;
    return std::chrono::seconds(target_s()) + kRoundedDown;
}

}  // namespace convert
