#include "protocol/srt/repair_list.h"

#include <algorithm>
#include <numeric>

namespace srt {

RepairList::Ranges::iterator RepairList::find(int64_t index) {
    return std::ranges::lower_bound(ranges_, index, {}, &ExtendedRange::last);
}

int64_t RepairList::packets() const {
    return std::accumulate(ranges_.begin(), ranges_.end(), int64_t{0},
                           [](int64_t sum, const ExtendedRange& range) { return sum + range.size(); });
}

bool RepairList::contains(int64_t index) const {
    const auto at = std::ranges::lower_bound(ranges_, index, {}, &ExtendedRange::last);
    return at != ranges_.end() && at->contains(index);
}

bool RepairList::add(ExtendedRange range) {
    const auto first = find(range.first - 1);  // also the one that ends directly before
    auto end = first;
    while (end != ranges_.end() && end->first <= range.last + 1) ++end;
    if (first == end) {
        if (ranges_.size() >= kMaxRanges) return false;
        ranges_.insert(first, range);
        return true;
    }
    first->first = std::min(first->first, range.first);
    first->last = std::max((end - 1)->last, range.last);
    ranges_.erase(first + 1, end);
    return true;
}

void RepairList::remove(ExtendedRange range) {
    auto at = find(range.first);
    if (at == ranges_.end() || at->first > range.last) return;
    if (at->first < range.first) {
        const int64_t last = at->last;
        at->last = range.first - 1;
        ++at;
        // One that is split may be the one above the bound.
        if (last > range.last) ranges_.insert(at, {range.last + 1, last});
        if (last >= range.last) return;
    }
    auto end = at;
    while (end != ranges_.end() && end->last <= range.last) ++end;
    if (end != ranges_.end()) end->first = std::max(end->first, range.last + 1);
    ranges_.erase(at, end);
    if (ranges_.empty()) Ranges().swap(ranges_);
}

void RepairList::remove_below(int64_t index) {
    if (!ranges_.empty() && ranges_.front().first < index) remove({ranges_.front().first, index - 1});
}

}  // namespace srt
