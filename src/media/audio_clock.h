#pragma once
// AudioClock: decides how decoded audio is aligned to its timestamps, so that encoded packets, which have a fixed
// duration, stay at the source's times. Small jitter is ignored; a source whose sample clock runs slow or fast against
// its timestamps is stretched imperceptibly; a short gap becomes silence and a long one a jump of the timestamps; audio
// that is late by more than jitter is dropped. Pure: it counts samples.

#include <cstdint>

namespace media {

class AudioClock {
  public:
    enum class Action : uint8_t { kPlay, kFill, kJump, kDrop };
    struct Step {
        Action action = Action::kPlay;
        int64_t samples = 0;  // kFill: of silence before the frame
        int stretch = 0;      // samples to add to (below 0: remove from) the next second; 0: unchanged
    };
    static constexpr int kMaxFillMs = 1'000;

    // rate: samples per second; a deviation of more than slack_ms from the expected time is not jitter.
    AudioClock(int rate, int slack_ms) : rate_(rate), slack_(static_cast<int64_t>(rate) * slack_ms / 1000) {}

    // `time`: the timestamp of the frame's first sample; `expected`: where the previous audio ended (both in samples).
    Step next(int64_t time, int64_t expected, int64_t samples);

  private:
    int64_t rate_;
    int64_t slack_;
    bool started_ = false;
    int64_t error_ = 0;   // smoothed delay against the timestamps: 1/64 samples
    int64_t since_ = 0;   // samples since the last stretch
    int64_t behind_ = 0;  // samples dropped in a row
};

}  // namespace media
