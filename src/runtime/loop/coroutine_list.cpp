#include <array>

#include "runtime/diagnose/frames.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/coroutine_state.h"

namespace runtime {
namespace {

using detail::Coroutine;

void describe_wait(const Coroutine& one, const char* frame, int64_t now_us, bool with_calls, CoroutineInfo& info) {
    info.stack_now_bytes = static_cast<size_t>(one.stack_top - frame);
    if (one.waits_for) {
        info.waits_for = one.waits_for;
        info.fd = one.waits_fd;
        info.waits_ms = std::max<int64_t>(0, now_us - one.waits_since_us) / 1000;
        if (one.waits_until_us != Deadline::never().at_us())
            info.left_ms = std::max<int64_t>(0, one.waits_until_us - now_us) / 1000;
    }
    if (!with_calls) return;
    std::array<uintptr_t, kMaxCalls> calls;
    const size_t count = detail::walk_frames(
        reinterpret_cast<uintptr_t>(frame),
        {reinterpret_cast<uintptr_t>(one.stack_low), reinterpret_cast<uintptr_t>(one.stack_top), false}, calls);
    info.calls.assign(calls.begin(), calls.begin() + static_cast<ptrdiff_t>(count));
}

CoroutineInfo describe(const Coroutine& one, int64_t now_us, bool with_calls) {
    CoroutineInfo info;
    info.name = one.name;
    info.context_id = one.context_id;
    info.stack_bytes = static_cast<size_t>(one.stack_top - one.stack_low);
    // A coroutine that has not run yet has no paint to measure, and no frame.
    if (one.stack && !one.started) {
        info.waits_for = "its first run";
        return info;
    }
    if (one.stack) info.stack_used_bytes = detail::painted_stack_used(*one.stack);
    const auto* here = static_cast<const char*>(__builtin_frame_address(0));
    describe_wait(one, one.waits_for ? one.waits_frame : here, now_us, with_calls, info);
    return info;
}

}  // namespace

std::vector<CoroutineInfo> list_coroutines(bool with_calls) {
    std::vector<CoroutineInfo> all;
    if (!detail::main_coroutine()) return all;
    const int64_t now_us = runtime::now_us();
    all.push_back(describe(*detail::main_coroutine(), now_us, with_calls));
    for (auto* c = detail::first_coroutine(); c; c = c->next) all.push_back(describe(*c, now_us, with_calls));
    return all;
}

size_t coroutine_count() { return detail::living_coroutines() + (detail::main_coroutine() ? 1 : 0); }

}  // namespace runtime
