#include "service/dvr/cutter.h"

namespace service::dvr {

using media::Kind;

bool Cutter::may_begin(const media::Frame& frame, bool at_keyframes) const {
    if (frame.track != 0) return false;
    if (!options_.wait_keyframe) return true;
    // Audio before a publication's first keyframe is recorded, so that nothing is lost.
    return frame.kind == Kind::kVideo ? frame.keyframe : !at_keyframes;
}

bool Cutter::is_due(const media::Frame& frame, media::Time time, bool at_keyframes) const {
    if (!options_.segments || frame.track != 0 || time - began_ < media::from_ms(options_.duration_ms)) return false;
    if (!options_.wait_keyframe) return true;
    return frame.kind == Kind::kVideo ? frame.keyframe : !at_keyframes;
}

Step Cutter::step(const media::Frame& frame, media::Time time, bool at_keyframes) {
    bool video = frame.kind == Kind::kVideo && frame.track == 0;
    if (video && options_.wait_keyframe && !video_began_ && !frame.keyframe) return Step::kDrop;
    if (!open_ && !may_begin(frame, at_keyframes)) return Step::kDrop;
    video_began_ |= video;
    const bool must_end = must_end_ && frame.track == 0;
    if (open_ && !must_end && !is_due(frame, time, at_keyframes)) return Step::kAppend;
    open_ = true;
    must_end_ = false;
    began_ = time;
    return Step::kBegin;
}

}  // namespace service::dvr
