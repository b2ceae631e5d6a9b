#include "live/fanout/cursor.h"

namespace live {

bool Cursor::end_here(const PacketIndex& log) {
    if (ends()) return false;
    end_ = plays() ? log.head() : position_;
    return true;
}

Cursor::Rest Cursor::rest(const PacketIndex& log) const {
    if (position_ >= end_) return Rest::kStreamEnded;
    return plays() && position_ < log.head() ? Rest::kDurationOver : Rest::kMore;
}

uint64_t Cursor::jump(const PacketIndex& log, std::optional<uint64_t> newest_start) {
    const uint64_t from = position_;
    if (newest_start && *newest_start > from)
        play_from(*newest_start);
    else
        wait_from(log.head());
    return position_ - from;
}

}  // namespace live
