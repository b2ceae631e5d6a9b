#pragma once
// The figures of a session (net/sessions/session_figures.h) from what live/ has measured.

#include "live/fanout/viewer.h"
#include "live/hub/input_faults.h"
#include "live/hub/publisher_limits.h"
#include "live/hub/stream.h"
#include "net/sessions/session_figures.h"

namespace service {

inline net::SessionFigures figures_of(const live::Viewer& viewer) {
    const live::ViewerCounters counted = viewer.counters();
    const live::ViewerHistory history = viewer.history();
    net::SessionFigures figures;
    figures.frames = history.frames;
    figures.skips = counted.jumps;
    figures.skipped_bytes = counted.skipped_bytes;
    figures.stalls = history.stalls;
    figures.stalled_ms = history.stalled_ms;
    figures.last_stall_ms = history.last_stall_ms;
    figures.first_frame_ms = history.first_ms;
    return figures;
}

// stream: that it publishes; null: none. faults: what it sent that could not be used; null: that is not counted.
inline net::SessionFigures figures_of(const live::PublisherLimits& limits, const live::Stream* stream,
                                      const live::InputFaults* faults) {
    const live::PublisherLimits::History& history = limits.history();
    net::SessionFigures figures;
    figures.frames = stream ? stream->publication_frames() : 0;
    figures.dropped = faults ? faults->total() : 0;
    figures.stalls = history.stalls;
    figures.stalled_ms = history.stalled_ms;
    figures.last_stall_ms = history.last_stall_ms;
    figures.first_frame_ms = history.first_ms;
    return figures;
}

}  // namespace service
