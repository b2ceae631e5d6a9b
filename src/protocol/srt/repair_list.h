#pragma once
// The packets that a sender is to send again: sorted ranges that neither overlap nor touch. Bounded: a range for which
// there is no room is dropped, the peer requests it again.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "protocol/srt/sequence.h"

namespace srt {

class RepairList {
  public:
    static constexpr size_t kMaxRanges = 256;

    bool empty() const { return ranges_.empty(); }
    size_t ranges() const { return ranges_.size(); }
    int64_t packets() const;
    // Of a list that is not empty.
    int64_t front() const { return ranges_.front().first; }
    bool contains(int64_t index) const;

    // False: no room.
    bool add(ExtendedRange range);
    void remove(ExtendedRange range);
    void remove_below(int64_t index);
    void pop_front() { remove_below(front() + 1); }

  private:
    using Ranges = std::vector<ExtendedRange>;
    // The first range that ends at `index` or later.
    Ranges::iterator find(int64_t index);

    Ranges ranges_;
};

}  // namespace srt
