#include "runtime/loop/stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <unordered_map>

#include "base/log.h"
#include "base/result.h"
#include "runtime/diagnose/sampler.h"
#include "runtime/loop/immortal.h"
#include "runtime/loop/memcheck.h"

#ifdef SRS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace runtime::detail {
namespace {

// The number of ended stacks that keep their memory, so that the next coroutines find it warm.
constexpr size_t kIdleStacksKept = 2;

struct Stacks {
    std::unordered_map<uintptr_t, Stack> by_top;  // as large as the peak number of coroutines
    Stack* first_idle = nullptr;
    Stack* last_idle = nullptr;
    size_t idle = 0;
    bool guard_failure_logged = false;
};

Stacks& stacks() {
    static Immortal<Stacks> instance;
    return instance.value;
}

void unlink_idle(Stack& stack) {
    auto& all = stacks();
    (stack.previous ? stack.previous->next : all.first_idle) = stack.next;
    (stack.next ? stack.next->previous : all.last_idle) = stack.previous;
    stack.previous = stack.next = nullptr;
    stack.idle = false;
    --all.idle;
}

// Each guard costs two mappings, and the kernel allows 65,530 of them. Running without a guard is better than failing.
void guard(Stack& stack) {
    stack.guarded = mprotect(stack.low - page_size(), page_size(), PROT_NONE) == 0;
    if (stack.guarded || stacks().guard_failure_logged) return;
    stacks().guard_failure_logged = true;
    base::log::write(base::log::Level::kWarn, "cannot protect the page below a coroutine's stack", errno);
}

}  // namespace

size_t page_size() {
    static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

#if defined(__x86_64__)
// rbp is 0 in the outermost frame, which ends a walk by frame pointers. An undefined rip ends a walk by .eh_frame.
__attribute__((naked, no_instrument_function)) void* first_frame(void*) {
    asm("pushq %rbp\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".cfi_undefined rip\n"
        "xorl %ebp, %ebp\n"
        "call runtime_coroutine_main\n"
        "popq %rbp\n"
        "ret");
}
#else
// Stack walks may continue into what state-threads left there.
void* first_frame(void* coroutine) { return runtime_coroutine_main(coroutine); }
#endif

bool is_in_first_frame(uintptr_t return_address) {
    constexpr uintptr_t kMaxSize = 32;  // of its code
    const uintptr_t at = return_address - reinterpret_cast<uintptr_t>(first_frame);
    return at > 0 && at < kMaxSize;
}

Stack& take_stack(const void* thread, size_t size) {
    const uintptr_t mask = page_size() - 1;
    const uintptr_t top = (reinterpret_cast<uintptr_t>(thread) + mask) & ~mask;
    Stack& stack = stacks().by_top[top];
    if (!stack.top) {
        stack.top = reinterpret_cast<char*>(top);
        stack.low = stack.top - ((size + mask) & ~mask);
        guard(stack);
    }
    if (stack.idle) unlink_idle(stack);
    stack.memcheck_id =
        memcheck_begin_stack(reinterpret_cast<uintptr_t>(stack.low), reinterpret_cast<uintptr_t>(stack.top));
#ifdef SRS_SANITIZER
    __lsan_register_root_region(stack.low, stack.size());
#endif
    return stack;
}

void leave_stack(Stack& stack) {
    memcheck_end_stack(stack.memcheck_id);
#ifdef SRS_SANITIZER
    __lsan_unregister_root_region(stack.low, stack.size());
#endif
    auto& all = stacks();
    stack.idle = true;
    stack.previous = all.last_idle;
    (all.last_idle ? all.last_idle->next : all.first_idle) = &stack;
    all.last_idle = &stack;
    if (++all.idle <= kIdleStacksKept) return;
    // The oldest stack has surely been left by now; this one has not.
    Stack& oldest = *all.first_idle;
    unlink_idle(oldest);
    madvise(oldest.low, oldest.size(), MADV_DONTNEED);
}

void register_idle_stack([[maybe_unused]] const void* thread) {
    constexpr uintptr_t kBytes = 32 * 1024;  // the maximum it needs
    const uintptr_t mask = page_size() - 1;
    const uintptr_t top = (reinterpret_cast<uintptr_t>(thread) + mask) & ~mask;
    memcheck_begin_stack(top - kBytes, top);
    set_idle_stack({top - kBytes, top, false});
}

#ifdef SRS_DEBUG
namespace {
constexpr char kPaint = 0x5a;
}

__attribute__((no_sanitize("address", "undefined"), noinline)) void paint_stack(Stack& stack) {
    auto* end = static_cast<char*>(__builtin_frame_address(0)) - 256;
    for (volatile char* p = stack.low; p < end; ++p) *p = kPaint;
}

__attribute__((no_sanitize("address", "undefined"))) size_t painted_stack_used(const Stack& stack) {
    const volatile char* p = stack.low;
    while (p < stack.top && *p == kPaint) ++p;
    return static_cast<size_t>(stack.top - p);
}
#else
void paint_stack(Stack&) {}
size_t painted_stack_used(const Stack&) { return 0; }
#endif

__attribute__((no_sanitize("address"))) void announce_stack([[maybe_unused]] const char* low,
                                                            [[maybe_unused]] const char* top) {
#ifdef SRS_SANITIZER
    __sanitizer_start_switch_fiber(nullptr, low, static_cast<size_t>(top - low));
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

#ifdef SRS_SANITIZER
void pause_leak_checker() { __lsan_disable(); }
void resume_leak_checker() { __lsan_enable(); }
#else
void pause_leak_checker() {}
void resume_leak_checker() {}
#endif

void thread_stack_bounds(const char*& low, const char*& top) {
    pthread_attr_t attributes;
    void* address = nullptr;
    size_t size = 0;
    CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
    pthread_attr_getstack(&attributes, &address, &size);
    pthread_attr_destroy(&attributes);
    low = static_cast<char*>(address);
    top = low + size;
}

}  // namespace runtime::detail
