#pragma once
// Synchronisation of coroutines: Event, WaitGroup (counts what runs, waits for the last). One thread: no locks. All
// wake-ups are level-like: check the state after a wait.

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"
#include "runtime/loop/deadline.h"

namespace runtime {

namespace detail {
base::Result<void> check_cancelled();  // kCancelled when the running coroutine was cancelled
struct WaitNode;                       // lives on the stack of a waiting coroutine
class WaitList {
  public:
    WaitList() = default;
    WaitList(const WaitList&) = delete;
    ~WaitList();  // CHECKs that no coroutine waits
    // Yields until woken (ok), the deadline (kTimeout) or cancellation (kCancelled). `what`: see Waiting.
    base::Result<void> wait(Deadline deadline, const char* what);
    void wait_uncancelled();
    void wake_one();
    void wake_all();
    bool empty() const { return first_ == nullptr; }

  private:
    base::Result<void> wait_as(Deadline deadline, const char* what, bool cancellable);
    void append(WaitNode& node);
    void remove(WaitNode& node);
    WaitNode* first_ = nullptr;
    WaitNode* last_ = nullptr;
};
}  // namespace detail

// Set once or many times; wait() returns at once while it is set.
class Event {
  public:
    // what: a description for the list of coroutines: "a worker". It must never be freed.
    explicit Event(const char* what = "an event") : what_(what) {}
    bool is_set() const { return set_; }
    void set() {
        set_ = true;
        waiters_.wake_all();
    }
    // For hundreds of waiters, whose wake-ups alone would make one iteration of the loop long: one is woken, and each
    // calls wake_next() when its wait() has returned.
    void set_and_wake_one() {
        set_ = true;
        waiters_.wake_one();
    }
    void wake_next() { waiters_.wake_one(); }
    void reset() { set_ = false; }
    base::Result<void> wait(Deadline deadline);
    // Wakes the current waiters without setting it.
    void pulse() { waiters_.wake_all(); }
    // Waits for the next set() or pulse(), even if it is set.
    base::Result<void> wait_next(Deadline deadline) { return waiters_.wait(deadline, what_); }

  private:
    const char* what_;
    bool set_ = false;
    detail::WaitList waiters_;
};

// Counts what is inside; a destructor or shutdown waits until the count is 0.
class WaitGroup {
  public:
    class Member {
      public:
        explicit Member(WaitGroup& group) : group_(&group) { ++group.inside_; }
        Member(Member&& other) noexcept : group_(std::exchange(other.group_, nullptr)) {}
        Member& operator=(Member&&) = delete;
        ~Member() {
            if (group_) group_->leave();
        }

      private:
        WaitGroup* group_;
    };
    [[nodiscard]] Member enter() { return Member(*this); }
    size_t inside() const { return inside_; }
    base::Result<void> wait_empty(Deadline deadline);

  private:
    void leave() {
        if (--inside_ == 0) waiters_.wake_all();
    }
    size_t inside_ = 0;
    detail::WaitList waiters_;
};

}  // namespace runtime
