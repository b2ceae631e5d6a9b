#include "runtime/diagnose/cpu_profile.h"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>

#include "runtime/diagnose/sampler.h"
#include "runtime/diagnose/watched_thread.h"
#include "runtime/loop/coroutine.h"

namespace runtime {
namespace {

constexpr size_t kMaxDepth = 64;
// The average words per sample, for the buffer that is allocated beforehand; memory is used as it is touched.
constexpr size_t kWordsPerSample = 40;
constexpr int64_t kPollMs = 200;

}  // namespace

// Written by the signal handler on the thread that is sampled, read by the loop when that is over.
struct detail::SampleBuffer {
    std::unique_ptr<uintptr_t[]> words;
    uintptr_t* next = nullptr;
    uintptr_t* end = nullptr;
    uint64_t samples = 0;
    uint64_t lost = 0;

    // Not a vector: it would touch every page.
    explicit SampleBuffer(size_t room)
        : words(std::make_unique_for_overwrite<uintptr_t[]>(room)), next(words.get()), end(next + room) {}

    void add(const siginfo_t& info, const void* context) {
        std::array<uintptr_t, kMaxDepth> calls;
        const size_t count = sample_stack(context, calls);
        const auto weight = static_cast<uintptr_t>(1 + std::max(0, info.si_overrun));
        if (static_cast<size_t>(end - next) < count + 2) {
            lost += weight;
            return;
        }
        samples += weight;
        *next++ = weight;
        *next++ = count;
        std::memcpy(next, calls.data(), count * sizeof(uintptr_t));
        next += count;
    }
};

namespace {

using detail::SampleBuffer;
using detail::WatchedThread;

std::atomic<SampleBuffer*> loop_samples{nullptr};

void take_sample(const siginfo_t& info, const void* context) {
    WatchedThread* thread = detail::this_watched_thread();
    if (!thread) {
        if (SampleBuffer* to = loop_samples.load(std::memory_order_relaxed)) to->add(info, context);
        return;
    }
    // The loop takes the buffer away, and then waits until the handler has ended.
    thread->is_sampling.store(true);
    if (SampleBuffer* to = thread->samples.load()) to->add(info, context);
    thread->is_sampling.store(false);
}

// A timer on a thread's CPU time that signals that thread.
class CpuTimer {
  public:
    CpuTimer() = default;
    CpuTimer(const CpuTimer&) = delete;
    ~CpuTimer() {
        if (made_) timer_delete(timer_);
    }
    base::Result<void> start(int64_t period_us, pid_t thread) {
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = detail::sample_signal();
        event._sigev_un._tid = thread;
        // The kernel's number for the clock of a thread, as pthread_getcpuclockid() makes it.
        const auto clock = static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | 6u);
        if (timer_create(clock, &event, &timer_) < 0)
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

// Of all threads. The sender threads are stopped only when no request is served any more.
class Recording {
  public:
    explicit Recording(size_t room) : loop_(room) {
        for (WatchedThread* thread : detail::watched_threads())
            if (thread->identity() != 0) threads_.emplace_back(thread, std::make_unique<SampleBuffer>(room));
    }
    ~Recording() { stop(); }
    Recording(const Recording&) = delete;

    base::Result<void> start(int64_t period_us) {
        loop_samples.store(&loop_);
        for (auto& [thread, buffer] : threads_) thread->samples.store(buffer.get());
        detail::set_profile_sink(take_sample);
        detail::install_sample_handler();
        TRY(timers_.emplace_back().start(period_us, gettid()));
        for (auto& [thread, buffer] : threads_) TRY(timers_.emplace_back().start(period_us, thread->identity()));
        return {};
    }
    void stop() {
        timers_.clear();
        // A pending signal then finds no sink.
        detail::set_profile_sink(nullptr);
        loop_samples.store(nullptr);
        for (auto& [thread, buffer] : threads_) {
            thread->samples.store(nullptr);
            while (thread->is_sampling.load()) sched_yield();
        }
    }
    void write_to(CpuProfile& profile) const {
        const auto take = [&profile](const SampleBuffer& from) {
            profile.samples += from.samples;
            profile.lost += from.lost;
            return std::vector<uintptr_t>(from.words.get(), from.next);
        };
        profile.records = take(loop_);
        for (const auto& [thread, buffer] : threads_) profile.threads.push_back({thread->name(), take(*buffer)});
    }

  private:
    SampleBuffer loop_;
    std::vector<std::pair<WatchedThread*, std::unique_ptr<SampleBuffer>>> threads_;
    std::deque<CpuTimer> timers_;
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
    if (loop_samples.load()) return base::fail(base::Code::kBusy, "a profile is being recorded already");
    CpuProfile profile;
    profile.period_us = 1'000'000 / options.hertz;
    const auto max_samples = static_cast<size_t>(options.duration_ms * options.hertz / 1000) + 16;
    Recording recording(max_samples * kWordsPerSample + kMaxDepth);
    TRY(recording.start(profile.period_us));
    TRY(wait_for_it(options));
    recording.stop();
    recording.write_to(profile);
    return profile;
}

std::string CpuProfile::to_pprof() const {
    std::vector<uintptr_t> words{0, 3, 0, static_cast<uintptr_t>(period_us), 0};
    words.insert(words.end(), records.begin(), records.end());
    for (const OfThread& thread : threads) words.insert(words.end(), thread.records.begin(), thread.records.end());
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
    const auto add = [&](const std::string& root, const std::vector<uintptr_t>& from) {
        for (size_t at = 0; at + 2 <= from.size();) {
            const uint64_t weight = from[at];
            const size_t count = from[at + 1];
            std::string stack = root;
            for (size_t i = count; i > 0; --i) {
                // A return address is after its call instruction; the innermost address is not one.
                if (!stack.empty()) stack += ';';
                stack += name(from[at + 1 + i] - (i > 1 ? 1 : 0));
            }
            stacks[stack] += weight;
            at += 2 + count;
        }
    };
    add(threads.empty() ? "" : "loop", records);
    for (const OfThread& thread : threads) add(thread.name, thread.records);
    std::string out;
    for (const auto& [stack, count] : stacks) out += stack + " " + std::to_string(count) + "\n";
    return out;
}

}  // namespace runtime
