#pragma once
// MixQueue: puts audio and video into order of dts (mix_correct). A frame waits until the other track has come as far,
// or until kMaxDelayMs of stream time or kMaxFrames have gathered behind it: it is bounded, and loses nothing.

#include <cstddef>
#include <cstdint>
#include <deque>

#include "media/frame.h"

namespace live {

class MixQueue {
  public:
    static constexpr int64_t kMaxDelayMs = 500;
    static constexpr size_t kMaxFrames = 256;

    void push(media::Frame frame);
    // Whether a frame may go out now; then it is in out.
    bool pop(media::Frame& out);
    // The same, without waiting for the other track: at the publisher's end.
    bool pop_any(media::Frame& out);
    bool empty() const { return frames_.empty(); }

  private:
    std::deque<media::Frame> frames_;             // by dts, equal ones in order of arrival
    int64_t newest_[2] = {INT64_MIN, INT64_MIN};  // video, audio
};

}  // namespace live
