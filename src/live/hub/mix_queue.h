#pragma once
// MixQueue: sorts audio and video by dts (mix_correct). A frame waits until the other track has reached its dts, until
// kMaxDelayMs of stream time, kMaxFrames or kMaxBytes are queued behind it, or until it has waited kMaxDelayMs. So the
// queue is bounded, and it drops nothing. Pure: the clock is handed in.

#include <cstddef>
#include <cstdint>
#include <deque>

#include "live/hub/stream_memory.h"
#include "media/frame.h"

namespace live {

class MixQueue {
  public:
    static constexpr int64_t kMaxDelayMs = 500;
    static constexpr media::Time kMaxDelay = std::chrono::milliseconds(kMaxDelayMs);
    static constexpr size_t kMaxFrames = 256;
    static constexpr size_t kMaxBytes = 8 * 1024 * 1024;

    // now_ms, here and below: monotonic.
    void push(media::Frame frame, int64_t now_ms);
    // Takes the first frame that may go out now into out; false: there is none. To be called periodically too, for
    // frames that no other follows.
    bool pop(media::Frame& out, int64_t now_ms);
    // The same, without waiting for the other track: at the end of a publication.
    bool pop_any(media::Frame& out);
    bool empty() const { return frames_.empty(); }
    size_t memory() const { return bytes_; }

  private:
    struct Waiting {
        media::Frame frame;
        int64_t arrival_ms;
    };
    std::deque<Waiting> frames_;                                // by dts in ms, equal ones in order of arrival
    size_t bytes_ = 0;                                          // of memory that the frames keep
    media::Time newest_[2] = {media::kNoTime, media::kNoTime};  // video, audio
};

}  // namespace live
