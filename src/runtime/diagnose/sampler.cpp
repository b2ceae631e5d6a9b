#include "runtime/diagnose/sampler.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "runtime/diagnose/watched_thread.h"
#include "runtime/loop/coroutine_state.h"

namespace runtime::detail {
namespace {

std::atomic<SampleSink> profile_sink{nullptr};
std::atomic<SampleSink> stall_sink{nullptr};
StackRange idle_stack;

// Of a WatchedThread. Initialised without code, so that the signal handler may read them.
thread_local constinit WatchedThread* this_thread = nullptr;
thread_local constinit StackRange this_stack;

void on_sample(int, siginfo_t* info, void* context) {
    const int error = errno;
    const SampleSink sink = (info->si_code == SI_TIMER ? profile_sink : stall_sink).load(std::memory_order_relaxed);
    if (sink) sink(*info, context);
    errno = error;
}

StackRange stack_of(const Coroutine& coroutine) {
#if defined(__x86_64__)
    const bool ends = coroutine.stack != nullptr;  // see first_frame
#else
    const bool ends = false;
#endif
    return {reinterpret_cast<uintptr_t>(coroutine.stack_low), reinterpret_cast<uintptr_t>(coroutine.stack_top), ends};
}

}  // namespace

void WatchedThread::begin_on_thread() {
    pthread_attr_t attributes;
    void* low = nullptr;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &low, &bytes);
        pthread_attr_destroy(&attributes);
    }
    const auto begin = reinterpret_cast<uintptr_t>(low);
    this_stack = {begin, begin + bytes, false};
    this_thread = this;
    sigset_t sampled;
    sigemptyset(&sampled);
    sigaddset(&sampled, sample_signal());
    pthread_sigmask(SIG_UNBLOCK, &sampled, nullptr);
    id_.store(gettid(), std::memory_order_release);
}

WatchedThread* this_watched_thread() { return this_thread; }

void set_profile_sink(SampleSink sink) { profile_sink.store(sink); }
void set_stall_sink(SampleSink sink) { stall_sink.store(sink); }
void set_idle_stack(StackRange range) { idle_stack = range; }

void install_sample_handler() {
    struct sigaction action {};
    action.sa_sigaction = on_sample;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigfillset(&action.sa_mask);
    // A memory fault in the handler must still be reported.
    for (int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) sigdelset(&action.sa_mask, fault);
    sigaction(sample_signal(), &action, nullptr);
}

// In the middle of a switch the stack may not belong to the coroutine marked as running: only a stack that contains the
// stack pointer is walked.
size_t sample_stack(const void* signal_context, std::span<uintptr_t> out) {
    const Registers at = registers_of(signal_context);
    if (this_thread) return walk_interrupted(at, this_stack, out);
    StackRange stack = idle_stack;
    const Coroutine* running = pulse.running.load(std::memory_order_relaxed);
    if (running && stack_of(*running).contains(at.sp, 1)) {
        stack = stack_of(*running);
    } else if (const Coroutine* main = main_coroutine(); main && stack_of(*main).contains(at.sp, 1)) {
        stack = stack_of(*main);
    }
    return walk_interrupted(at, stack, out);
}

}  // namespace runtime::detail
