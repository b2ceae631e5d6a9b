#include "convert/segments/variant_clock.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace convert {

using media::Time;
using Member = VariantClock::Member;

Member::Member(std::shared_ptr<VariantClock> clock, int64_t now_ms) : clock_(std::move(clock)), began_ms_(now_ms) {
    clock_->members_.push_back(this);
}

Member::Member(Member&& other) noexcept { *this = std::move(other); }

Member& Member::operator=(Member&& other) noexcept {
    leave();
    clock_ = std::exchange(other.clock_, nullptr);
    began_ms_ = other.began_ms_;
    offset_ = other.offset_;
    first_ = other.first_;
    ahead_ = other.ahead_;
    has_segment_ = other.has_segment_;
    if (clock_) std::ranges::replace(clock_->members_, &other, this);
    return *this;
}

void Member::leave() {
    if (!clock_) return;
    std::erase(clock_->members_, this);
    clock_.reset();
}

void Member::set_offset(Time first, Time newest, int64_t arrival_ms) {
    first_ = first;
    offset_ = Time(0);
    // By the others' frames that came with the least delay.
    const auto is_placed = [this](const Member* other) { return other != this && other->ahead_; };
    std::optional<Time> ahead;
    for (const Member* other : clock_->members_)
        if (is_placed(other)) ahead = std::max(ahead, other->ahead_);
    if (ahead) offset_ = media::from_ms(arrival_ms) + *ahead - newest;
    const auto is_same = [&](const Member* other) {
        const bool starts_together = std::abs(began_ms_ - other->began_ms_) <= kStartsTogetherMs &&
                                     media::distance(first, other->first_) <= media::from_ms(kStartsTogetherMs);
        return is_placed(other) && (starts_together || media::distance(*offset_, *other->offset_) <= kSameTimes);
    };
    if (auto same = std::ranges::find_if(clock_->members_, is_same); same != clock_->members_.end())
        offset_ = *(*same)->offset_;
    arrived(shared(newest), arrival_ms);
}

void Member::arrived(Time shared, int64_t arrival_ms) { ahead_ = shared - media::from_ms(arrival_ms); }

bool VariantClock::others_have_segments(const Member& member) const {
    return std::ranges::any_of(members_, [&](const Member* other) { return other != &member && other->has_segment_; });
}

std::optional<ListPosition> Member::position_at(Time start) const {
    const auto& starts = clock_->starts_;
    if (!clock_->others_have_segments(*this) || starts.empty()) return std::nullopt;
    auto found = starts.rbegin();
    while (found + 1 != starts.rend() && found->at > start + clock_->slack()) ++found;
    ListPosition position = found->position;
    position.date_ms += media::to_ms(start - found->at);
    return position;
}

void Member::begin_segment(const ListPosition& position, Time start) {
    auto& starts = clock_->starts_;
    if (!std::exchange(has_segment_, true) && !clock_->others_have_segments(*this)) starts.clear();
    if (!starts.empty()) {
        const Start& last = starts.back();
        const bool is_next = position.sequence == last.position.sequence + 1 &&
                             start >= last.at + clock_->fragment_ / 2 &&
                             media::distance(*ahead_, last.ahead) <= kInStep;
        const Time since = (start - *ahead_) - (last.at - last.ahead);  // by the clock
        const bool is_old = since > static_cast<int64_t>(kMaxStarts) * clock_->fragment_;
        if (!is_next && !is_old && clock_->others_have_segments(*this)) return;
        if (!is_next) starts.clear();
    }
    starts.push_back({position, start, *ahead_});
    if (starts.size() > kMaxStarts) starts.pop_front();
}

bool Member::ends_before(uint64_t sequence, Time keyframe) const {
    const auto& starts = clock_->starts_;
    if (starts.empty() || sequence + 1 < starts.front().position.sequence) return false;
    const uint64_t index = sequence + 1 - starts.front().position.sequence;
    return index < starts.size() && keyframe + clock_->slack() >= starts[index].at;
}

}  // namespace convert
