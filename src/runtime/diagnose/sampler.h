#pragma once
// Internal. The signal that samples the stack of the loop's thread, or of a WatchedThread. It is sent by a timer on the
// thread's CPU time (for a profile) and by the watchdog's thread (for a stall of the loop). It is a real-time signal,
// so that it does not collide with gperftools or gprof, which use SIGPROF. On the loop's thread the handler runs on the
// alternative stack that the fault handler or the sanitizer has set.

#include <csignal>
#include <span>

#include "runtime/diagnose/frames.h"

namespace runtime::detail {

inline int sample_signal() { return SIGRTMIN + 5; }

// Both sinks are called in the signal handler; with null such samples are dropped.
using SampleSink = void (*)(const siginfo_t& info, const void* signal_context);
void set_profile_sink(SampleSink sink);  // for samples of timers
void set_stall_sink(SampleSink sink);    // for samples of the watchdog
// To be called before a sink is set; more calls are harmless.
void install_sample_handler();

// For use in the handler: the interrupted stack, the program counter first.
size_t sample_stack(const void* signal_context, std::span<uintptr_t> out);
// The stack of state-threads' idle thread, which polls.
void set_idle_stack(StackRange range);

}  // namespace runtime::detail
