#pragma once
// Health: what can be seen of a stream's frames as they pass: how long its groups of pictures are, whether it has B
// pictures, how steady it is, and whether its tracks keep step with each other and with the clock. Some twenty
// instructions a frame; what needs the time of day is done once in a window, which is a group of pictures, or part of
// one that is long, or a second or so of sound. Pure: the clock is handed in.

#include <algorithm>
#include <array>
#include <cstdint>

#include "media/frame.h"

namespace live {

class Health {
  public:
    static constexpr uint32_t kMaxWindowFrames = 512;   // of both kinds: longer groups of pictures are cut
    static constexpr uint32_t kSoundWindowFrames = 64;  // where there are no pictures
    static constexpr size_t kWindows = 16;
    // Drift is measured from an anchor between one and two of these ago, the first of them kSettleMs after the start:
    // before that publishers send faster than they will.
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
    // Where the tracks were at one moment.
    struct Point {
        int64_t now_ms = 0;  // monotonic
        media::Time video_dts = media::kNoTime;
        media::Time audio_dts = media::kNoTime;
        bool has_both() const { return video_dts != media::kNoTime && audio_dts != media::kNoTime; }
    };

    // Another publisher begins.
    void restart(int64_t now_ms);

    // An audio or video frame that is no sequence header. True: a window ends before it, and note_window_end() must
    // follow.
    bool note(const media::Frame& frame) {
        const bool video = frame.kind == media::Kind::kVideo;
        const bool over = (video && frame.keyframe) || frames_in_window_ >= most_frames_;
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
    void note_window_end(int64_t now_ms);

    // The windows that are over, the newest last; at most kWindows.
    size_t windows() const { return std::min<uint64_t>(windows_seen_, kWindows); }
    const Window& window(size_t place) const { return ring_[(windows_seen_ - windows() + place) % kWindows]; }
    // All of them in one.
    Window recent() const;

    int64_t last_gop_ms() const { return last_gop_ms_; }        // 0: none is complete yet
    int64_t longest_gop_ms() const { return longest_gop_ms_; }  // of this publication
    uint64_t keyframes() const { return keyframes_; }
    int64_t keyframe_at_ms() const { return keyframe_at_ms_; }  // when the last one came; 0: none did
    int64_t started_ms() const { return started_ms_; }
    // From where drift is measured, and the end of the newest window; now_ms is 0 before there is such a one.
    const Point& anchor() const { return anchors_[0]; }
    const Point& newest() const { return newest_; }

  private:
    void end_window(const media::Frame& next);

    uint32_t frames_in_window_ = 0;
    uint32_t most_frames_ = kSoundWindowFrames;
    Window current_;
    media::Time highest_pts_ = media::kNoTime;
    Point at_;
    bool keyframe_ends_ = false;  // the window that ends does so by a keyframe
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
