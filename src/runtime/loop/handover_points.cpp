#include "runtime/loop/handover_points.h"

#include <algorithm>

#include "runtime/loop/coroutine.h"

namespace runtime {

namespace {

constexpr int64_t kCheckMs = 10;

std::vector<HandoverPoint*>& points() {
    static std::vector<HandoverPoint*> all;
    return all;
}

}  // namespace

HandoverPoint::HandoverPoint() { points().push_back(this); }

HandoverPoint::~HandoverPoint() { std::erase(points(), this); }

void seek_handover(bool on) {
    for (HandoverPoint* point : points()) point->seek_handover(on);
}

bool is_at_handover() {
    return std::ranges::all_of(points(), [](const HandoverPoint* point) { return point->is_at_handover(); });
}

void await_handover(Deadline deadline) {
    while (!is_at_handover() && !deadline.passed())
        if (!sleep_ms(kCheckMs)) return;
}

}  // namespace runtime
