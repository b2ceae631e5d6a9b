#include "media/audio_clock.h"

#include <algorithm>

namespace media {
namespace {

constexpr int64_t kSmoothing = 64;
constexpr int kCorrectFromMs = 4;   // smaller errors are not worth stretching
constexpr int kMaxStretch = 200;    // one sample in this many: inaudible
constexpr int kMaxDropSeconds = 2;  // then the source's timestamps have changed permanently

}  // namespace

AudioClock::Step AudioClock::next(int64_t time, int64_t expected, int64_t samples) {
    int64_t late = time - expected;
    bool behind_for_long = behind_ > rate_ * kMaxDropSeconds;
    if (!started_ || late > rate_ * kMaxFillMs / 1000 || behind_for_long) {
        started_ = true;
        error_ = behind_ = since_ = 0;
        return {Action::kJump, 0, 0};
    }
    if (late > slack_) {
        error_ = behind_ = 0;
        return {Action::kFill, late, 0};
    }
    if (late < -slack_) {
        behind_ += samples;
        error_ = 0;
        return {Action::kDrop, 0, 0};
    }
    behind_ = 0;
    error_ += late - error_ / kSmoothing;
    since_ += samples;
    Step step;
    int64_t error = error_ / kSmoothing;
    if (since_ >= rate_ && std::abs(error) > rate_ * kCorrectFromMs / 1000) {
        step.stretch = static_cast<int>(std::clamp(error, -rate_ / kMaxStretch, rate_ / kMaxStretch));
        error_ -= step.stretch * kSmoothing;
        since_ = 0;
    }
    return step;
}

}  // namespace media
