#pragma once
// Internal. What state-threads does not do for the stacks it hands out: a guard page below each, giving memory back
// when a coroutine has ended (state-threads keeps every stack for ever), and what the address sanitizer and valgrind
// must be told. Where a stack lies is known from the thread structure, which state-threads puts at its top.

#include <cstddef>
#include <cstdint>

// The body, in coroutine.cpp; its name is one that assembly can say.
extern "C" void* runtime_coroutine_main(void* coroutine);

namespace runtime::detail {

struct Stack {
    char* low = nullptr;  // of the usable part, which ends at top
    char* top = nullptr;
    bool guarded = false;  // the page below low cannot be touched
    bool idle = false;     // in the list of ended ones whose memory was not given back yet
    Stack* previous = nullptr;
    Stack* next = nullptr;
    unsigned memcheck_id = 0;

    size_t size() const { return static_cast<size_t>(top - low); }
};

size_t page_size();

// What state-threads is given to call: runs runtime_coroutine_main(coroutine) in the frame where each coroutine's stack
// begins for those who walk it (perf, gperf, gdb, valgrind, the sanitizers): no frame pointer and no return address
// lead beyond it. What is there otherwise is whatever state-threads had in its registers when it made the stack.
void* first_frame(void* coroutine);

// The stack of a coroutine just created and not run yet. `size` is what was asked for: right for a stack not seen
// before; one that is used again keeps the bounds it had.
Stack& take_stack(const void* thread, size_t size);
// Called on the stack itself as the last thing: it may be used again, or its memory be given back later.
void leave_stack(Stack& stack);

// state-threads' own idle thread, for valgrind: called on it, once.
void register_idle_stack(const void* thread);

// In debug builds (SRS_DEBUG): fills what lies below the caller's frame with a pattern; how deep it was overwritten.
void paint_stack(Stack& stack);
size_t painted_stack_used(const Stack& stack);

// Tells the address sanitizer which stack runs now. Nothing in other builds.
void announce_stack(const char* low, const char* top);
// What is allocated between the two is not looked for by the leak checker. Nothing in other builds.
void pause_leak_checker();
void resume_leak_checker();
// The bounds of the first coroutine's stack, which is the thread's.
void thread_stack_bounds(const char*& low, const char*& top);

}  // namespace runtime::detail
