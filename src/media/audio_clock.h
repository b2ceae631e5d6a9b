#pragma once
// AudioClock: decides how decoded audio follows what came before it, so that encoded packets, which have a length of
// their own, stay at the times that the source gave. Times that waver a little are left alone, a source whose samples
// run slow or fast against its times is stretched imperceptibly, a hole becomes silence when it is short and a jump of
// the times when it is long, and what is behind its time by more than wavering is dropped. Pure: it counts samples.

#include <cstdint>

namespace media {

class AudioClock {
  public:
    enum class Action : uint8_t { kPlay, kFill, kJump, kDrop };
    struct Step {
        Action action = Action::kPlay;
        int64_t samples = 0;  // kFill: of silence before it
        int stretch = 0;      // samples to add to (below 0: take from) the next second; 0: leave it
    };
    static constexpr int kMaxFillMs = 1'000;

    // Samples per second; more than slack_ms from where it is expected is no wavering.
    AudioClock(int rate, int slack_ms) : rate_(rate), slack_(static_cast<int64_t>(rate) * slack_ms / 1000) {}

    // A frame's first sample belongs to `time`, and would follow what was before it at `expected` (both in samples).
    Step next(int64_t time, int64_t expected, int64_t samples);

  private:
    int64_t rate_;
    int64_t slack_;
    bool started_ = false;
    int64_t error_ = 0;   // how far behind its times it runs, smoothed: 1/64 samples
    int64_t since_ = 0;   // samples since it was stretched last
    int64_t behind_ = 0;  // samples dropped in a row
};

}  // namespace media
