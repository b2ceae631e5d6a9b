#pragma once
// Permits limits how many coroutines are inside at once; the others wait in FIFO order. One thread: no locks.

#include <cstddef>
#include <utility>

#include "base/result.h"
#include "runtime/loop/deadline.h"
#include "runtime/loop/sync.h"

namespace runtime {

class Permits {
  public:
    class Pass {
      public:
        explicit Pass(Permits& permits) : permits_(&permits) { ++permits.inside_; }
        Pass(Pass&& other) noexcept : permits_(std::exchange(other.permits_, nullptr)) {}
        Pass& operator=(Pass&&) = delete;
        ~Pass() {
            if (permits_) permits_->leave();
        }

      private:
        Permits* permits_;
    };

    // what: as for Event.
    explicit Permits(size_t max, const char* what = "a permit") : max_(max), what_(what) {}
    // kTimeout, kCancelled.
    base::Result<Pass> enter(Deadline deadline) {
        // A newcomer does not overtake the waiters.
        bool waited = false;
        while (inside_ >= max_ || (!waited && !waiters_.empty())) {
            auto woken = waiters_.wait(deadline, what_);
            waited = true;
            if (woken) continue;
            // It may have been woken for a free permit: pass the wake-up on.
            if (inside_ < max_) waiters_.wake_one();
            return std::unexpected(std::move(woken.error()));
        }
        Pass pass(*this);
        if (inside_ < max_) waiters_.wake_one();
        return pass;
    }
    size_t inside() const { return inside_; }

  private:
    void leave() {
        --inside_;
        waiters_.wake_one();
    }
    size_t max_;
    const char* what_;
    size_t inside_ = 0;
    detail::WaitList waiters_;
};

}  // namespace runtime
