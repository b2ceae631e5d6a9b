#include "media/decoding_times.h"

#include <algorithm>

#include "media/h264.h"
#include "media/h265.h"

namespace media {

void DecodingTimes::declare(std::optional<int> reordered, Time duration) {
    declared_ = reordered_ = std::clamp(reordered.value_or(0), 0, kMaxReordered);
    found_ = window_ = 0;
    duration_ = duration;
}

void DecodingTimes::declare(const Frame& header) {
    if (header.codec == Codec::kH264) {
        auto config = parse_avc_config(header.payload);
        if (!config || config->sps.empty()) return;
        auto sps = parse_h264_sps(config->sps[0]);
        if (sps) declare(sps->reordered_frames, sps->frame_duration);
    } else if (header.codec == Codec::kHevc) {
        auto config = parse_hevc_config(header.payload);
        if (!config || config->sps.empty()) return;
        auto sps = parse_hevc_sps(config->sps[0]);
        if (sps) declare(sps->reordered_frames, sps->frame_duration);
    }
}

void DecodingTimes::restart() {
    constexpr int kEnough = 5;  // to take the mean distance for the duration of a frame
    if (count_ >= kEnough && duration_ == Time(0))
        duration_ = (latest_[static_cast<size_t>(count_ - 1)] - latest_[0]) / (count_ - 1);
    count_ = 0;
}

void DecodingTimes::insert(Time pts) {
    const auto begin = latest_.begin();
    if (count_ == static_cast<int>(latest_.size())) {
        if (pts <= latest_[0]) return;
        std::copy(begin + 1, latest_.end(), begin);
        --count_;
    }
    auto at = std::upper_bound(begin, begin + count_, pts);
    std::copy_backward(at, begin + count_, begin + count_ + 1);
    *at = pts;
    ++count_;
}

void DecodingTimes::record(int reordered) {
    reordered_ = std::max(reordered_, reordered);
    found_ = std::max(found_, reordered);
    if (++window_ < kWindow) return;
    reordered_ = std::max(declared_, found_);
    found_ = window_ = 0;
}

Time DecodingTimes::next(Time pts) {
    if (count_ > 0 && distance(pts, latest_[static_cast<size_t>(count_ - 1)]) > kJump) {
        restart();
        if (pts < last_) last_ = kNoTime;
    }
    insert(pts);
    const auto end = latest_.begin() + count_;
    const auto later = static_cast<int>(end - std::upper_bound(latest_.begin(), end, pts));
    record(std::min(later, kMaxReordered));
    const int index = count_ - 1 - reordered_;
    const Time step = duration_ > Time(0) ? duration_ : kDefaultStep;
    Time time = index >= 0 ? latest_[static_cast<size_t>(index)] : latest_[0] + index * step;
    if (last_ != kNoTime) time = std::max(time, last_ + kLeastStep);
    return last_ = time;
}

}  // namespace media
