#pragma once
// Internal. What state-threads lacks for its stacks: a guard page below each, returning memory when a coroutine has
// ended (state-threads keeps every stack for ever), and hints to the address sanitizer and valgrind. The location of a
// stack is derived from the thread structure, which state-threads puts at its top.

#include <cstddef>
#include <cstdint>

// The body, in coroutine.cpp; extern "C" so that assembly can name it.
extern "C" void* runtime_coroutine_main(void* coroutine);

namespace runtime::detail {

struct Stack {
    char* low = nullptr;  // of the usable part, which ends at top
    char* top = nullptr;
    bool guarded = false;  // the page below low is inaccessible
    bool idle = false;     // in the list of ended stacks whose memory was not returned yet
    Stack* previous = nullptr;
    Stack* next = nullptr;
    unsigned memcheck_id = 0;

    size_t size() const { return static_cast<size_t>(top - low); }
};

size_t page_size();

// The entry function that state-threads calls: runs runtime_coroutine_main(coroutine) in the frame that ends each
// coroutine's stack for stack walkers (perf, gperf, gdb, valgrind, the sanitizers): it has no frame pointer and no
// return address to a caller. Otherwise it would hold whatever state-threads had in its registers when it made the
// stack.
void* first_frame(void* coroutine);
// Whether a return address is first_frame's: that of the outermost frame with a frame pointer.
bool is_in_first_frame(uintptr_t return_address);

// The stack of a coroutine that was just created and has not run yet. `size` is the requested size, which applies to a
// new stack; a reused stack keeps its bounds.
Stack& take_stack(const void* thread, size_t size);
// Called on the stack itself as its last action: it may be reused, or its memory be returned later.
void leave_stack(Stack& stack);

// state-threads' own idle thread, for valgrind: called on it, once.
void register_idle_stack(const void* thread);

// In debug builds (SRS_DEBUG): fills the stack below the caller's frame with a pattern; returns how deep it was
// overwritten.
void paint_stack(Stack& stack);
size_t painted_stack_used(const Stack& stack);

// Tells the address sanitizer which stack runs now. Does nothing in other builds.
void announce_stack(const char* low, const char* top);
// The leak checker ignores what is allocated between the two calls. They do nothing in other builds.
void pause_leak_checker();
void resume_leak_checker();
// The bounds of the first coroutine's stack, which is the thread's.
void thread_stack_bounds(const char*& low, const char*& top);

}  // namespace runtime::detail
