#pragma once
// HandoverPoints: moments at which what this process does can go over to another one without a cut: of a stream that is
// cut into segments, a keyframe. While an upgrade is prepared, those who depend on such moments are told to come to
// one, and the upgrade waits a while for them. In the process that takes over, they say when they have what goes over.
//
// For the loop's thread.

#include <vector>

#include "runtime/loop/deadline.h"

namespace runtime {

class HandoverPoint {
  public:
    HandoverPoint();
    virtual ~HandoverPoint();
    HandoverPoint(const HandoverPoint&) = delete;

    // Whether an upgrade is being prepared. Does not yield.
    virtual void seek_handover(bool on) = 0;
    virtual bool is_at_handover() const = 0;
};

// Tells all of them. Neither yields.
void seek_handover(bool on);
bool is_at_handover();
// Yields until all of them are there, the deadline has passed, or the coroutine was cancelled.
void await_handover(Deadline deadline);

}  // namespace runtime
