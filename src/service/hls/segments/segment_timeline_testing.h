#pragma once
// A whole segment at once, for tests.

#include <utility>

#include "service/hls/segments/segment_timeline.h"

namespace service::hls {

inline SegmentTimeline::Id add(SegmentTimeline& timeline, Segment segment, int64_t now_ms) {
    const media::Time duration = segment.duration;
    segment.duration = {};
    timeline.open(std::move(segment));
    return timeline.close(duration, now_ms);
}

}  // namespace service::hls
