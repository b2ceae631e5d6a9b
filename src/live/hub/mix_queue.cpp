#include "live/hub/mix_queue.h"

#include <algorithm>

namespace live {

namespace {
int track_of(const media::Frame& frame) { return frame.kind == media::Kind::kVideo ? 0 : 1; }
}  // namespace

void MixQueue::push(media::Frame frame, int64_t now_ms) {
    media::Time& newest = newest_[track_of(frame)];
    if (frame.track == 0) newest = std::max(newest, frame.dts);  // another track may be ahead of the first
    bytes_ += memory_of(frame);
    // In ms: frames that the publisher rounded to the same ms stay in the publisher's order.
    auto later = [](int64_t ms, const Waiting& other) { return ms < media::to_ms(other.frame.dts); };
    auto position = std::upper_bound(frames_.begin(), frames_.end(), media::to_ms(frame.dts), later);
    frames_.insert(position, {std::move(frame), now_ms});
}

bool MixQueue::pop(media::Frame& out, int64_t now_ms) {
    if (frames_.empty()) return false;
    const media::Frame& front = frames_.front().frame;
    const media::Time other = newest_[1 - track_of(front)];
    bool other_has_reached_it = other == media::kNoTime || other >= front.dts;
    bool waited_enough = frames_.size() > kMaxFrames || bytes_ > kMaxBytes ||
                         frames_.back().frame.dts - front.dts > kMaxDelay ||
                         now_ms - frames_.front().arrival_ms > kMaxDelayMs;
    return (other_has_reached_it || waited_enough) && pop_any(out);
}

bool MixQueue::pop_any(media::Frame& out) {
    if (frames_.empty()) return false;
    out = std::move(frames_.front().frame);
    frames_.pop_front();
    bytes_ -= memory_of(out);
    return true;
}

}  // namespace live
