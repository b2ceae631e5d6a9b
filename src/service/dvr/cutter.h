#pragma once
// Decides where a recording's files begin and end: the plans session (one file) and segment (cut at the first keyframe
// after a given duration; without video, by time alone), and the wait for a keyframe at the beginning. Pure: it decides
// for each frame and knows nothing of files.

#include <cstdint>

#include "media/frame.h"

namespace service::dvr {

struct CutOptions {
    bool segments = false;
    int64_t duration_ms = 30'000;  // of a segment
    bool wait_keyframe = true;
};

enum class Step : uint8_t {
    kAppend,
    kBegin,  // a new file begins with this frame; an open one ends before it
    kDrop,   // no file can begin yet
};

class Cutter {
  public:
    explicit Cutter(const CutOptions& options) : options_(options) {}

    void set_options(const CutOptions& options) { options_ = options; }
    // frame: audio or video, not a sequence header. time: its dts on the recording's timeline. at_keyframes: the
    // stream has video, so that a file can begin at keyframes only (Stream::begins_at_keyframes).
    Step step(const media::Frame& frame, media::Time time, bool at_keyframes);
    // The open file cannot continue: the next frame begins a new one.
    void file_must_end() { must_end_ = open_; }
    // The file was ended by an error: the next one begins like a new recording.
    void file_ended() { open_ = video_began_ = must_end_ = false; }
    bool open() const { return open_; }

  private:
    bool may_begin(const media::Frame& frame, bool at_keyframes) const;
    bool is_due(const media::Frame& frame, media::Time time, bool at_keyframes) const;

    CutOptions options_;
    bool open_ = false;
    bool must_end_ = false;
    bool video_began_ = false;  // a keyframe and everything since then was recorded
    media::Time began_{};
};

}  // namespace service::dvr
