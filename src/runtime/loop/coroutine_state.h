#pragma once
// Internal. A coroutine's state, and the two primitives that everything else is built on: suspend (wait on the
// coroutine's own condition) and wake.

#include <st.h>

#include <functional>
#include <string>

#include "base/ref.h"
#include "base/result.h"
#include "runtime/loop/deadline.h"
#include "runtime/loop/pulse.h"
#include "runtime/loop/stack.h"
#include "runtime/loop/sync.h"
#include "runtime/loop/timeouts.h"

namespace runtime::detail {

class Coroutine : public base::RefCounted<Coroutine> {
  public:
    std::string name;
    std::string context_id;
    std::move_only_function<void()> body;
    st_thread_t thread = nullptr;
    st_cond_t condition = nullptr;  // made at the first wait
    Stack* stack = nullptr;         // null in the first coroutine
    const char* stack_low = nullptr;
    const char* stack_top = nullptr;
    bool started = false;
    bool cancelled = false;
    bool done = false;
    uint32_t progress = 0;          // units since it last yielded; see account()
    uint32_t progress_checked = 0;  // when account() last checked the clock
    // For diagnostics, while it waits: what for (null: it runs, or has not started), on which descriptor (-1: none),
    // since when and until when by the loop's clock, and the frame at which its suspended stack begins.
    const char* waits_for = nullptr;
    int waits_fd = -1;
    int64_t waits_since_us = 0;
    int64_t waits_until_us = 0;
    const char* waits_frame = nullptr;
    // State of Timeouts: the time of its entry, that it waits there, and that the deadline of that wait came.
    static constexpr int64_t kNoTimeout = INT64_MAX;
    int64_t timeout_at_us = kNoTimeout;
    bool in_timeouts = false;
    bool late = false;
    WaitList ended;
    base::Ref<Coroutine> self;  // while it lives
    Coroutine* previous = nullptr;
    Coroutine* next = nullptr;
};

// The running coroutine.
Coroutine& current();
Coroutine* current_or_null();  // for the log and the fault handler: null outside init() ... shutdown()
Coroutine* main_coroutine();   // null outside init() ... shutdown()
Coroutine* first_coroutine();  // of all others that have not ended; `next` leads on
size_t living_coroutines();    // the number of those
Timeouts& timeouts();

enum class Wake : uint8_t { kWoken, kTimeout, kCancelled };
// Marks the running coroutine as waiting. `what` is a description for people: "input", "a timer"; it must never be
// freed.
struct Waiting {
    const char* what;
    int fd = -1;
};
class WaitScope {
  public:
    __attribute__((always_inline)) WaitScope(Coroutine& me, Waiting why, Deadline deadline) : me_(me) {
        me.waits_fd = why.fd;
        me.waits_since_us = static_cast<int64_t>(st_utime_last_clock());
        me.waits_until_us = deadline.at_us();
        me.waits_frame = static_cast<const char*>(__builtin_frame_address(0));
        me.waits_for = why.what;
        no_coroutine_runs();
    }
    ~WaitScope() {
        me_.waits_for = nullptr;
        coroutine_runs(me_);
    }
    WaitScope(const WaitScope&) = delete;

  private:
    Coroutine& me_;
};

// Yields until wake(), the deadline or cancel(). A passed deadline yields once. A caller that waits for several things
// must check itself which happened: a wake-up may coincide with the deadline.
Wake suspend(Deadline deadline, Waiting why, bool cancellable = true);
// Does nothing if the coroutine does not wait.
void wake(Coroutine& coroutine);
// Implements Task::cancel().
void cancel(Coroutine& coroutine);
base::Result<void> wake_result(Wake wake, std::source_location where = std::source_location::current());

// Called before work that may succeed without waiting. A coroutine whose peer is always faster must let others run from
// time to time: this yields after a megabyte, or when the loop iteration has become long. Units are bytes, or work that
// takes about as long.
base::Result<void> account(size_t units);

// While it exists nothing may yield: a ParkedHandler is running.
class NoYield {
  public:
    NoYield();
    ~NoYield();
};

// A coroutine without a Task. Null: there is no memory for its stack, which is logged.
base::Ref<Coroutine> start_coroutine(std::string name, std::move_only_function<void()> body, size_t stack_bytes);
void join_uncancelled(Coroutine& coroutine);

void install_fault_handler();

}  // namespace runtime::detail
