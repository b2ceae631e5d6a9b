#include "live/rtp/rtp_turn.h"

#include <algorithm>

#include "base/prefetch.h"
#include "live/fanout/fanout.h"
#include "live/hub/stream.h"
#include "live/rtp/rtp_lane.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"

namespace live {

namespace {

constexpr size_t kLanesAhead = 2;  // for how many lanes memory is prefetched

}  // namespace

void RtpTurn::add(RtpLane& lane) {
    const bool is_new = !std::exchange(lane.in_turn_, true);
    if (is_new) ready_.push_back(&lane);
    if (!running_)
        running_ =
            static_cast<bool>(runtime::spawn("rtp-turn", [this, fanout = base::Ref<Fanout>(&fanout_)] { run(); }));
    else if (is_new)
        wake_.pulse();
}

void RtpTurn::leave(RtpLane& lane) {
    if (std::exchange(lane.in_turn_, false)) {
        std::erase(ready_, &lane);
        std::ranges::replace(taken_, &lane, nullptr);
    }
    if (std::exchange(lane.paced_, false)) std::ranges::find(paced_, &lane, &Paced::lane)->lane = nullptr;
    if (--lanes_ == 0) wake_.pulse();
}

void RtpTurn::add_paced(RtpLane& lane, int64_t now_us) {
    if (!std::exchange(lane.paced_, true)) paced_.push_back({&lane, now_us + RtpLane::kPaceMs * 1000});
}

void RtpTurn::take_due_paced() {
    const int64_t now_us = paced_.empty() ? 0 : runtime::now_us();
    for (; !paced_.empty() && paced_.front().due_us <= now_us; paced_.pop_front()) {
        RtpLane* lane = paced_.front().lane;
        if (!lane) continue;
        lane->paced_ = false;
        add(*lane);
    }
}

// Two steps, because the second finds addresses in what the first has loaded. The lanes themselves have just been
// written to.
void RtpTurn::look_ahead(size_t i) const {
    const auto lane_at = [this](size_t at) { return at < taken_.size() ? taken_[at] : nullptr; };
    if (const RtpLane* lane = lane_at(i)) lane->prefetch_sinks();
    if (const RtpLane* lane = lane_at(i - 1)) lane->prefetch_first_needs();  // i may be 0: that is none
}

void RtpTurn::take_turn() {
    taken_.swap(ready_);
    int64_t slice_began_us = runtime::now_us();
    for (size_t i = 0; i < taken_.size() + kLanesAhead; ++i) {
        look_ahead(i);
        if (i < kLanesAhead) continue;
        int64_t now_us = runtime::now_us();
        if (now_us - slice_began_us >= RtpLane::kSliceUs) {
            if (!runtime::yield()) break;
            slice_began_us = now_us = runtime::now_us();
        }
        RtpLane* lane = taken_[i - kLanesAhead];
        if (!lane) continue;
        lane->in_turn_ = false;
        const base::Ref<Stream> held(&lane->stream());  // which owns the lane: the sinks' calls may yield in between
        if (lane->notify_of_packets(now_us) && lane->sinks() > 0) add_paced(*lane, now_us);
    }
    taken_.clear();
}

void RtpTurn::run() {
    using runtime::Deadline;
    while (lanes_ > 0 && !runtime::cancelled()) {
        if (ready_.empty())
            (void)wake_.wait_next(paced_.empty() ? Deadline::never() : Deadline::at_us(paced_.front().due_us));
        take_due_paced();
        take_turn();
    }
    running_ = false;
}

}  // namespace live
