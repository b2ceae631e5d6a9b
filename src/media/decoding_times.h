#pragma once
// DecodingTimes: decoding times of video frames from their presentation times, where a format carries only these (RTP).
// A frame is decoded when the frames before it in presentation order could be shown: with n reordered frames, the
// decoding time of a frame is the presentation time n places before the latest one so far. n is declared by the SPS, or
// found: then the frames of the first reordering get decoding times that are too late. Pure.

#include <array>
#include <cstdint>
#include <optional>

#include "media/frame.h"

namespace media {

class DecodingTimes {
  public:
    static constexpr int kMaxReordered = 16;

    // Declares the order of the next frames. duration: of a frame, 0: not known.
    void declare(std::optional<int> reordered, Time duration);
    // Declares what a sequence header of H.264 or HEVC says. Other codecs and broken headers say nothing.
    void declare(const Frame& header);
    // Frames are missing before the next one.
    void restart();
    // In decoding order. Decoding times rise from frame to frame; the result is after pts only where reordering was not
    // declared or times are wrong.
    Time next(Time pts);
    int reordered() const { return reordered_; }

  private:
    // A jump of presentation times, and not reordering.
    static constexpr Time kJump = std::chrono::seconds(2);
    static constexpr Time kDefaultStep = std::chrono::milliseconds(33);
    // What was found counts until it is not confirmed by so many frames: one wrong time must not last.
    static constexpr int kWindow = 512;
    static constexpr Time kLeastStep = from_ticks(1, 90'000);

    void insert(Time pts);
    void record(int reordered);

    int declared_ = 0;
    int reordered_ = 0;  // in force: what was declared or found
    int found_ = 0;      // in the current window
    int window_ = 0;     // frames since its begin
    Time duration_{};
    std::array<Time, kMaxReordered + 1> latest_{};  // the latest presentation times, in ascending order
    int count_ = 0;
    Time last_ = kNoTime;  // decoding time
};

}  // namespace media
