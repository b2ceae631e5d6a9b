#pragma once
// Internal. A coroutine's state, and the two primitives everything else is made of: suspend (wait on one's own
// condition) and wake.

#include <st.h>

#include <functional>
#include <string>

#include "base/ref.h"
#include "base/result.h"
#include "runtime/deadline.h"
#include "runtime/stack.h"
#include "runtime/sync.h"

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
    uint32_t progress = 0;  // what it did since it last let others run; see account()
    WaitList ended;
    base::Ref<Coroutine> self;  // while it lives
    Coroutine* previous = nullptr;
    Coroutine* next = nullptr;
};

// The running one.
Coroutine& current();
Coroutine* current_or_null();  // for the log and the fault handler: null outside init() ... shutdown()

enum class Wake : uint8_t { kWoken, kTimeout, kCancelled };
// Yields until wake(), the deadline or cancel(). A passed deadline yields once. Who asked for several things must look
// for himself what has happened: a wake-up may come together with the deadline.
Wake suspend(Deadline deadline, bool cancellable = true);
// Of one that does not wait: nothing happens.
void wake(Coroutine& coroutine);
base::Result<void> wake_result(Wake wake, std::source_location where = std::source_location::current());

// Called before work that may succeed without waiting: one whose peer is always faster than itself must let the others
// run now and then. Units are bytes, or what takes about as long.
base::Result<void> account(size_t units);

// While it exists nothing may yield: a ParkedHandler runs.
class NoYield {
  public:
    NoYield();
    ~NoYield();
};

// Internal coroutines of the runtime; not in list_coroutines().
base::Ref<Coroutine> start_coroutine(std::string name, std::move_only_function<void()> body, size_t stack_bytes);
void join_uncancelled(Coroutine& coroutine);

void install_fault_handler();

}  // namespace runtime::detail
