#pragma once
// A whole segment at once, for tests.

#include <utility>

#include "convert/segments/segment_timeline.h"

namespace convert {

inline SegmentTimeline::Id add(SegmentTimeline& timeline, Segment segment, int64_t now_ms) {
    const media::Time duration = segment.duration;
    segment.duration = {};
    timeline.open(std::move(segment));
    return timeline.close(duration, now_ms);
}

}  // namespace convert
