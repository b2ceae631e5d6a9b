#pragma once
// Health: properties of a stream that its frames show: GOP lengths, B-frames, how regular the frames are, and drift of
// the tracks against each other and against the clock. Costs some twenty instructions a frame; work that needs the time
// of day is done once per window. A window is a GOP, a part of a long GOP, or about a second of audio. Pure: the clock
// is handed in.

#include <algorithm>
#include <array>
#include <cstdint>

#include "media/frame.h"

namespace live {

class Health {
  public:
    static constexpr uint32_t kMaxWindowFrames = 512;   // of both kinds: longer GOPs are cut
    static constexpr uint32_t kAudioWindowFrames = 64;  // for streams without video
    static constexpr size_t kWindows = 16;
    // Drift is measured from an anchor that is between one and two kAnchorMs old. The first anchor is set kSettleMs
    // after the start: before that, publishers send faster than in real time.
    static constexpr int64_t kAnchorMs = 300'000;
    static constexpr int64_t kSettleMs = 5'000;

    struct Window {
        media::Time begin_dts{};
        media::Time end_dts{};
        uint64_t bytes = 0;
        uint32_t video_frames = 0;
        uint32_t b_frames = 0;
        uint32_t audio_frames = 0;
        media::Time longest_video_step{};
        int64_t ms() const { return media::to_ms(end_dts - begin_dts); }
    };
    // The positions of the tracks at one moment.
    struct Point {
        int64_t now_ms = 0;  // monotonic
        media::Time video_dts = media::kNoTime;
        media::Time audio_dts = media::kNoTime;
        bool has_both() const { return video_dts != media::kNoTime && audio_dts != media::kNoTime; }
    };

    // Another publisher begins.
    void restart(int64_t now_ms);

    // An audio or video frame that is no sequence header. True: a window ends before it, and the caller must call
    // record_window_end().
    bool record(const media::Frame& frame) {
        const bool video = frame.kind == media::Kind::kVideo;
        const bool over = (video && frame.keyframe) || frames_in_window_ >= max_frames_;
        if (over) [[unlikely]]
            end_window(frame);
        ++frames_in_window_;
        current_.bytes += frame.payload.size();
        if (!video) {
            ++current_.audio_frames;
            at_.audio_dts = frame.dts;
            return over;
        }
        ++current_.video_frames;
        if (frame.pts() < highest_pts_) ++current_.b_frames;
        highest_pts_ = std::max(highest_pts_, frame.pts());
        if (at_.video_dts != media::kNoTime)
            current_.longest_video_step = std::max(current_.longest_video_step, frame.dts - at_.video_dts);
        at_.video_dts = frame.dts;
        return over;
    }
    void record_window_end(int64_t now_ms);

    // The complete windows, the newest last; at most kWindows.
    size_t windows() const { return std::min<uint64_t>(windows_seen_, kWindows); }
    const Window& window(size_t index) const { return ring_[(windows_seen_ - windows() + index) % kWindows]; }
    // All of them as one.
    Window recent() const;

    int64_t last_gop_ms() const { return last_gop_ms_; }        // 0: none is complete yet
    int64_t longest_gop_ms() const { return longest_gop_ms_; }  // of this publication
    uint64_t keyframes() const { return keyframes_; }
    int64_t keyframe_at_ms() const { return keyframe_at_ms_; }  // when the last one arrived; 0: none did
    int64_t started_ms() const { return started_ms_; }
    // The start of the measurement of drift, and the end of the newest window; now_ms is 0 while there is none.
    const Point& anchor() const { return anchors_[0]; }
    const Point& newest() const { return newest_; }

  private:
    void end_window(const media::Frame& next);

    uint32_t frames_in_window_ = 0;
    uint32_t max_frames_ = kAudioWindowFrames;
    Window current_;
    media::Time highest_pts_ = media::kNoTime;
    Point at_;
    bool keyframe_ends_ = false;  // the window ended by a keyframe
    media::Time keyframe_dts_ = media::kNoTime;
    int64_t last_gop_ms_ = 0;
    int64_t longest_gop_ms_ = 0;
    uint64_t keyframes_ = 0;
    int64_t keyframe_at_ms_ = 0;
    int64_t started_ms_ = 0;
    std::array<Window, kWindows> ring_;
    uint64_t windows_seen_ = 0;
    std::array<Point, 2> anchors_;
    Point newest_;
};

}  // namespace live
