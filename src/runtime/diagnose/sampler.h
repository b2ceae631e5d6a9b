#pragma once
// Internal. The signal by which the loop's thread is asked where it is: by a timer of its processor time (a profile)
// and by the watchdog's thread (a stall). A real-time signal, so that nothing of gperftools or gprof, which use
// SIGPROF, is in the way. The handler runs on the alternative stack, which the fault handler or the sanitizer has set.

#include <csignal>
#include <span>

#include "runtime/diagnose/frames.h"

namespace runtime::detail {

inline int sample_signal() { return SIGRTMIN + 5; }

// Both are called in the signal handler; null: such samples are dropped.
using SampleSink = void (*)(const siginfo_t& info, const void* signal_context);
void set_profile_sink(SampleSink sink);  // of timers
void set_stall_sink(SampleSink sink);    // of the watchdog
// Once is enough; called by those who set a sink.
void install_sample_handler();

// In the handler: the interrupted stack, the program counter first.
size_t sample_stack(const void* signal_context, std::span<uintptr_t> out);
// state-threads' idle thread, which polls.
void set_idle_stack(StackRange range);

}  // namespace runtime::detail
