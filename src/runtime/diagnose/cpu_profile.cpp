#include "runtime/diagnose/cpu_profile.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <unordered_map>

#include "runtime/diagnose/sampler.h"
#include "runtime/loop/coroutine.h"

namespace runtime {
namespace {

constexpr size_t kMaxDepth = 64;
// The average words per sample, for the buffer that is allocated beforehand; memory is used as it is touched.
constexpr size_t kWordsPerSample = 40;
constexpr int64_t kPollMs = 200;

// Written by the signal handler, which interrupts the same thread that reads it.
struct Recorder {
    uintptr_t* next = nullptr;
    uintptr_t* end = nullptr;
    uint64_t samples = 0;
    uint64_t lost = 0;
};
std::atomic<Recorder*> recorder{nullptr};

void take_sample(const siginfo_t& info, const void* context) {
    Recorder* to = recorder.load(std::memory_order_relaxed);
    if (!to) return;
    std::array<uintptr_t, kMaxDepth> calls;
    const size_t count = detail::sample_stack(context, calls);
    const auto weight = static_cast<uintptr_t>(1 + std::max(0, info.si_overrun));
    if (static_cast<size_t>(to->end - to->next) < count + 2) {
        to->lost += weight;
        return;
    }
    to->samples += weight;
    *to->next++ = weight;
    *to->next++ = count;
    std::memcpy(to->next, calls.data(), count * sizeof(uintptr_t));
    to->next += count;
}

// A timer on this thread's CPU time that signals this thread.
class CpuTimer {
  public:
    ~CpuTimer() {
        if (made_) timer_delete(timer_);
    }
    base::Result<void> start(int64_t period_us) {
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = detail::sample_signal();
        event._sigev_un._tid = gettid();
        if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) < 0)
            return base::fail_errno("making a timer of processor time", errno);
        made_ = true;
        itimerspec spec{};
        spec.it_interval.tv_sec = period_us / 1'000'000;
        spec.it_interval.tv_nsec = period_us % 1'000'000 * 1000;
        spec.it_value = spec.it_interval;
        if (timer_settime(timer_, 0, &spec, nullptr) < 0) return base::fail_errno("timer_settime", errno);
        return {};
    }

  private:
    timer_t timer_{};
    bool made_ = false;
};

struct Recording {
    explicit Recording(Recorder& into) {
        recorder.store(&into);
        detail::set_profile_sink(take_sample);
        detail::install_sample_handler();
    }
    ~Recording() {
        // A pending signal then finds no sink.
        detail::set_profile_sink(nullptr);
        recorder.store(nullptr);
    }
};

base::Result<void> wait_for_it(const CpuProfileOptions& options) {
    const Deadline end = Deadline::in_ms(options.duration_ms);
    while (!end.passed()) {
        TRY(sleep_until(earlier(end, Deadline::in_ms(kPollMs))));
        if (options.give_up && options.give_up())
            return base::fail(base::Code::kCancelled, "the profile is wanted no more");
    }
    return {};
}

}  // namespace

base::Result<CpuProfile> record_cpu_profile(const CpuProfileOptions& options) {
    if (recorder.load()) return base::fail(base::Code::kBusy, "a profile is being recorded already");
    CpuProfile profile;
    profile.period_us = 1'000'000 / options.hertz;
    const auto max_samples = static_cast<size_t>(options.duration_ms * options.hertz / 1000) + 16;
    // Not a vector: it would touch every page.
    const size_t room = max_samples * kWordsPerSample + kMaxDepth;
    const auto words = std::make_unique_for_overwrite<uintptr_t[]>(room);
    Recorder into{words.get(), words.get() + room, 0, 0};
    {
        CpuTimer timer;
        const Recording recording(into);
        TRY(timer.start(profile.period_us));
        TRY(wait_for_it(options));
    }
    profile.samples = into.samples;
    profile.lost = into.lost;
    profile.records.assign(words.get(), into.next);
    return profile;
}

std::string CpuProfile::to_pprof() const {
    std::vector<uintptr_t> words{0, 3, 0, static_cast<uintptr_t>(period_us), 0};
    words.insert(words.end(), records.begin(), records.end());
    words.insert(words.end(), {0, 1, 0});
    std::string out(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uintptr_t));
    if (FILE* maps = std::fopen("/proc/self/maps", "re")) {
        std::array<char, 4096> piece;
        while (const size_t n = std::fread(piece.data(), 1, piece.size(), maps)) out.append(piece.data(), n);
        std::fclose(maps);
    }
    return out;
}

std::string CpuProfile::to_folded(const Symbols& symbols) const {
    std::unordered_map<uintptr_t, std::string> names;
    const auto name = [&](uintptr_t address) -> const std::string& {
        const auto [known, is_new] = names.try_emplace(address);
        if (is_new) {
            known->second = symbols.name(address);
            for (char& c : known->second)
                if (c == ';' || c == '\n') c = ':';
        }
        return known->second;
    };
    std::map<std::string, uint64_t> stacks;
    for (size_t at = 0; at + 2 <= records.size();) {
        const uint64_t weight = records[at];
        const size_t count = records[at + 1];
        std::string stack;
        for (size_t i = count; i > 0; --i) {
            // A return address is after its call instruction; the innermost address is not one.
            if (!stack.empty()) stack += ';';
            stack += name(records[at + 1 + i] - (i > 1 ? 1 : 0));
        }
        stacks[stack] += weight;
        at += 2 + count;
    }
    std::string out;
    for (const auto& [stack, count] : stacks) out += stack + " " + std::to_string(count) + "\n";
    return out;
}

}  // namespace runtime
