#include "live/hub/health.h"

namespace live {

void Health::restart(int64_t now_ms) {
    *this = Health();
    started_ms_ = now_ms;
}

void Health::end_window(const media::Frame& next) {
    keyframe_ends_ = next.keyframe;
    if (frames_in_window_ > 0) {
        current_.end_dts = next.dts;
        ring_[windows_seen_++ % kWindows] = current_;
    }
    current_ = Window();
    current_.begin_dts = next.dts;
    frames_in_window_ = 0;
    if (!next.keyframe) return;
    max_frames_ = kMaxWindowFrames;
    ++keyframes_;
    if (keyframe_dts_ != media::kNoTime) {
        last_gop_ms_ = media::to_ms(next.dts - keyframe_dts_);
        longest_gop_ms_ = std::max(longest_gop_ms_, last_gop_ms_);
    }
    keyframe_dts_ = next.dts;
}

void Health::record_window_end(int64_t now_ms) {
    if (keyframe_ends_) keyframe_at_ms_ = now_ms;
    newest_ = at_;
    newest_.now_ms = now_ms;
    if (now_ms - started_ms_ < kSettleMs) return;
    if (anchors_[0].now_ms == 0) anchors_.fill(newest_);
    // A track that started later than the anchor is measured from its start.
    if (newest_.has_both() && !anchors_[0].has_both()) anchors_.fill(newest_);
    if (now_ms - anchors_[1].now_ms < kAnchorMs) return;
    anchors_[0] = anchors_[1];
    anchors_[1] = newest_;
}

Health::Window Health::recent() const {
    Window sum;
    for (size_t i = 0; i < windows(); ++i) {
        const Window& one = window(i);
        if (i == 0) sum.begin_dts = one.begin_dts;
        sum.end_dts = one.end_dts;
        sum.bytes += one.bytes;
        sum.video_frames += one.video_frames;
        sum.b_frames += one.b_frames;
        sum.audio_frames += one.audio_frames;
        sum.longest_video_step = std::max(sum.longest_video_step, one.longest_video_step);
    }
    return sum;
}

}  // namespace live
