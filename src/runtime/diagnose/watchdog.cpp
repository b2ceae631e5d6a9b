#include "runtime/diagnose/watchdog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/diagnose/sampler.h"
#include "runtime/diagnose/symbols.h"
#include "runtime/diagnose/watched_thread.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/coroutine_state.h"
#include "runtime/loop/reactor.h"
#include "runtime/loop/services.h"

namespace runtime {
namespace detail {
namespace {

constexpr size_t kMaxStallsKept = 16;
constexpr int64_t kEndlessUs = 10'000'000;  // a stall that may never end is reported after this time
constexpr int64_t kFollowUs = 2000;         // check interval during a stall

// Written by the loop and read by the watchdog's thread, under the mutex; the loop reads it without.
std::mutex threads_mutex;
std::vector<WatchedThread*> threads;

// Filled by the signal handler on the loop's thread; read by the watchdog's thread once `ready` is set, and until it
// clears it.
struct Capture {
    std::atomic<bool> ready{false};
    std::array<uintptr_t, 48> calls;
    size_t count = 0;
    std::array<char, 64> name;
    size_t name_size = 0;
    std::array<char, 16> id;
    size_t id_size = 0;
};
Capture capture;

template <size_t N>
size_t copy_text(const std::string& from, std::array<char, N>& to) {
    const size_t size = std::min(from.size(), N);
    std::memcpy(to.data(), from.data(), size);
    return size;
}

void take_capture(const siginfo_t&, const void* context) {
    if (capture.ready.load(std::memory_order_acquire)) return;
    capture.count = sample_stack(context, capture.calls);
    capture.name_size = capture.id_size = 0;
    if (const Coroutine* running = pulse.running.load(std::memory_order_relaxed)) {
        capture.name_size = copy_text(running->name, capture.name);
        // The string may be in the middle of a change: it is read only if its data is stored inside the object.
        const auto* inside = reinterpret_cast<const char*>(&running->context_id);
        if (running->context_id.data() >= inside && running->context_id.data() < inside + sizeof running->context_id)
            capture.id_size = copy_text(running->context_id, capture.id);
    }
    capture.ready.store(true, std::memory_order_release);
}

LoopStats stats;
void keep(std::vector<Stall>& list, Stall stall) {
    if (list.size() == kMaxStallsKept) list.erase(list.begin());
    list.push_back(std::move(stall));
}
UnscheduledReport unscheduled;

// schedstat: nanoseconds on a processor, and runnable but waiting for one.
ThreadTimes read_times(int schedstat) {
    std::array<char, 100> text;
    const ssize_t size = schedstat < 0 ? -1 : pread(schedstat, text.data(), text.size(), 0);
    int64_t cpu_ns = 0, queued_ns = 0;
    if (size <= 0) return {};
    const char* end = text.data() + size;
    const auto cpu = std::from_chars(text.data(), end, cpu_ns);
    if (cpu.ec != std::errc() || cpu.ptr == end || std::from_chars(cpu.ptr + 1, end, queued_ns).ec != std::errc())
        return {};
    return {cpu_ns / 1000, queued_ns / 1000};
}

// Frames that do not help an operator: the standard library's call wrappers, and the coroutine's first frames.
bool is_plumbing(std::string_view name) {
    return name.contains("std::_Function_handler") || name.contains("std::move_only_function") ||
           name.contains("_S_invoke") || name.starts_with("runtime_coroutine_main") ||
           name.starts_with("runtime::detail::first_frame");
}

// The watchdog's thread, and the data it passes to the loop.
class Watchdog final : public ParkedHandler {
  public:
    base::Result<void> start(int64_t warn_ms);
    void set(int64_t warn_ms);
    void stop();

    void on_readable() override;
    void on_writable() override {}
    void on_hangup() override {}

  private:
    // An iteration at the moment it was first seen.
    struct Seen {
        uint64_t iteration = 0;
        int64_t at_us = 0;
        int64_t cpu_us = 0;
        int64_t queued_us = -1;
    };
    // A piece of work of another thread, when it was first seen.
    struct Piece {
        const WatchedThread* thread = nullptr;
        uint64_t finished = 0;
        int64_t at_us = 0;
        ThreadTimes times;
        bool is_stalled = false;
        bool is_reported = false;  // before it was over
    };
    void run();
    // Waits, and notices a pause of the process meanwhile.
    void wait(std::unique_lock<std::mutex>& lock, int64_t us);
    void skip_pause(int64_t paused_us);
    // True: one of them stalls.
    bool check_threads(int64_t now_us);
    void check_piece(Piece& piece, int64_t now_us);
    Stall describe_piece(const Piece& piece, int64_t now_us) const;
    void check(int64_t now_us);
    void begin(int64_t now_us);
    void follow(int64_t now_us);
    void end(int64_t end_us, int64_t cpu_us);
    // queued_us: while it was watched; -1: not known.
    void set_times(Stall& stall, int64_t end_us, int64_t cpu_us, int64_t queued_us) const;
    Stall describe_capture() const;
    void queue_report(Stall stall);
    void tell_loop();
    int64_t loop_cpu_us() const;
    int64_t queued_us() const;

    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false;
    int64_t warn_ms_ = 0;
    std::vector<Stall> reported_;  // to be logged by the loop
    std::vector<int64_t> pauses_;  // the same, ms

    // Used by the thread only.
    Seen seen_;
    int64_t warn_us_ = 0;
    int64_t next_check_us_ = 0;
    bool following_ = false;
    bool endless_reported_ = false;
    int64_t began_us_ = 0;
    Stall stall_;
    uint64_t paused_iteration_ = 0;  // the process stood still in it
    int own_schedstat_ = -1;
    int64_t own_queued_us_ = -1;
    std::vector<Piece> pieces_;

    std::thread thread_;
    pid_t loop_tid_ = 0;
    clockid_t loop_clock_{};
    int schedstat_ = -1;
    Watch wake_;
};

base::Result<void> Watchdog::start(int64_t warn_ms) {
    warn_ms_ = warn_ms;
    loop_tid_ = gettid();
    if (pthread_getcpuclockid(pthread_self(), &loop_clock_) != 0)
        return base::fail(base::Code::kSystem, "the loop's thread has no clock of its processor time");
    const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) return base::fail_errno("eventfd", errno);
    TRY(wake_.open(fd, EPOLLIN));
    wake_.park(*this);
    schedstat_ = ::open(fmt::format("/proc/self/task/{}/schedstat", loop_tid_).c_str(), O_RDONLY | O_CLOEXEC);
    set_stall_sink(take_capture);
    install_sample_handler();
    // Signals are to be delivered to the loop's thread.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return {};
}

void Watchdog::set(int64_t warn_ms) {
    {
        std::lock_guard lock(mutex_);
        warn_ms_ = warn_ms;
    }
    changed_.notify_all();
}

void Watchdog::stop() {
    {
        std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    set_stall_sink(nullptr);
    pulse.stalled_iteration.store(0);
    if (wake_.fd() >= 0) on_readable();
    wake_.close();
    for (const int file : {schedstat_, own_schedstat_})
        if (file >= 0) ::close(file);
}

// Logged here and not by the thread: only the loop may log.
void Watchdog::on_readable() {
    uint64_t count;
    [[maybe_unused]] const ssize_t got = ::read(wake_.fd(), &count, sizeof count);
    std::vector<Stall> reported;
    std::vector<int64_t> pauses;
    {
        std::lock_guard lock(mutex_);
        reported.swap(reported_);
        pauses.swap(pauses_);
    }
    for (const int64_t ms : pauses) {
        ++stats.pauses;
        stats.paused_ms += ms;
        base::log::warn("the process stood still for {} ms: stopped by a signal, or its machine was suspended or moved",
                        ms);
    }
    for (Stall& stall : reported) {
        if (!stall.thread.empty()) {
            const auto stalled = std::ranges::find(threads, stall.thread, &WatchedThread::name);
            if (stalled != threads.end()) (*stalled)->count_stall(stall.ms);
            if (stall.cause != StallCause::kNotScheduled) base::log::warn("{}", stall.describe());
            keep(stats.last_of_threads, std::move(stall));
            continue;
        }
        ++stats.stalls;
        stats.stalled_ms += stall.ms;
        stats.longest_stall_ms = std::max(stats.longest_stall_ms, stall.ms);
        stats.minute.add(stall.ms, base::monotonic_ms());
        if (stall.cause == StallCause::kNotScheduled) {
            if (const auto line = unscheduled.add(stall.ms, base::monotonic_ms())) base::log::warn("{}", *line);
        } else {
            const ContextScope scope(stall.context_id);
            base::log::warn("{}", stall.describe());
        }
        keep(stats.last, std::move(stall));
    }
}

// Of a clock that goes on while the machine is suspended.
int64_t boot_us() {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * 1'000'000LL + now.tv_nsec / 1000;
}

void Watchdog::wait(std::unique_lock<std::mutex>& lock, int64_t us) {
    const int64_t began_us = base::monotonic_us(), suspended_us = boot_us() - began_us;
    changed_.wait_for(lock, std::chrono::microseconds(us));
    const int64_t now_us = base::monotonic_us(), queued_us = read_times(own_schedstat_).queued_us;
    const int64_t queued = queued_us < 0 ? -1 : queued_us - std::exchange(own_queued_us_, queued_us);
    const int64_t paused =
        judge_pause(now_us - began_us - std::max<int64_t>(us, 0), queued, boot_us() - now_us - suspended_us);
    if (paused > 0) skip_pause(paused);
}

// With the mutex. What was seen before the pause would look like a stall.
void Watchdog::skip_pause(int64_t paused_us) {
    paused_iteration_ = pulse.iterations.load(std::memory_order_acquire);
    seen_ = {};
    pieces_.clear();
    if (following_) pulse.stalled_iteration.store(0, std::memory_order_relaxed);
    following_ = false;
    if (pauses_.size() < kMaxStallsKept) pauses_.push_back(paused_us / 1000);
    tell_loop();
}

void Watchdog::run() {
    pthread_setname_np(pthread_self(), "watchdog");
    own_schedstat_ = ::open(fmt::format("/proc/self/task/{}/schedstat", gettid()).c_str(), O_RDONLY | O_CLOEXEC);
    own_queued_us_ = read_times(own_schedstat_).queued_us;
    std::unique_lock lock(mutex_);
    int64_t wait_us = 0;
    while (!stopping_) {
        warn_us_ = warn_ms_ * 1000;
        if (warn_us_ == 0 && !following_) {
            changed_.wait(lock);
            continue;
        }
        wait(lock, wait_us);
        lock.unlock();
        const int64_t now_us = base::monotonic_us();
        following_ ? follow(now_us) : check(now_us);
        const bool follows = check_threads(now_us) || following_;
        wait_us = follows ? kFollowUs : next_check_us_ - now_us;
        lock.lock();
    }
}

// An iteration of warn_us_ is seen once while it lasts, and again at that age.
void Watchdog::check(int64_t now_us) {
    next_check_us_ = now_us + warn_us_;
    if (!pulse.running.load(std::memory_order_relaxed)) return;  // the loop polls
    const uint64_t iteration = pulse.iterations.load(std::memory_order_acquire);
    const int64_t began_us = pulse.iteration_began_us.load(std::memory_order_relaxed);
    if (iteration == 0 || warn_us_ == 0 || iteration == paused_iteration_) return;
    if (iteration != seen_.iteration) seen_ = {iteration, now_us, loop_cpu_us(), queued_us()};
    if (now_us - began_us < warn_us_) {
        next_check_us_ = began_us + warn_us_;
    } else {
        began_us_ = began_us;
        begin(now_us);
    }
}

// A thread has no clock for each piece of its work: that would cost it more than the rest of its bookkeeping. A piece
// that is seen twice, stall_warn apart, has lasted at least that long.
bool Watchdog::check_threads(int64_t now_us) {
    const std::lock_guard lock(threads_mutex);
    std::erase_if(pieces_,
                  [](const Piece& piece) { return std::ranges::find(threads, piece.thread) == threads.end(); });
    for (const WatchedThread* thread : threads)
        if (std::ranges::find(pieces_, thread, &Piece::thread) == pieces_.end()) pieces_.emplace_back().thread = thread;
    for (Piece& piece : pieces_) check_piece(piece, now_us);
    return std::ranges::any_of(pieces_, &Piece::is_stalled);
}

void Watchdog::check_piece(Piece& piece, int64_t now_us) {
    const uint64_t finished = piece.thread->finished();
    const bool works = piece.thread->works();
    if (!works || finished != piece.finished || piece.at_us == 0) {
        if (piece.is_stalled) queue_report(describe_piece(piece, now_us));
        piece = {piece.thread, finished, works ? now_us : 0,
                 works ? thread_times(piece.thread->identity()) : ThreadTimes{}};
        return;
    }
    if (warn_us_ > 0 && now_us - piece.at_us >= warn_us_) piece.is_stalled = true;
    if (now_us - piece.at_us < kEndlessUs || piece.is_reported) return;
    piece.is_reported = true;
    // Not through the loop, which may be waiting for this thread.
    base::log::last_words("so far " + describe_piece(piece, now_us).describe());
}

Stall Watchdog::describe_piece(const Piece& piece, int64_t now_us) const {
    const ThreadTimes now = thread_times(piece.thread->identity());
    const int64_t watched_us = now_us - piece.at_us, cpu_us = now.cpu_us - piece.times.cpu_us;
    const int64_t queued_us = now.queued_us < 0 ? -1 : now.queued_us - piece.times.queued_us;
    Stall stall;
    stall.ms = stall.watched_ms = watched_us / 1000;
    stall.cpu_ms = cpu_us / 1000;
    stall.queued_ms = queued_us < 0 ? -1 : queued_us / 1000;
    stall.cause = judge_stall(watched_us, cpu_us, queued_us);
    stall.thread = piece.thread->name();
    return stall;
}

void Watchdog::begin(int64_t now_us) {
    pulse.yielded_us.store(0, std::memory_order_relaxed);
    pulse.stalled_iteration.store(seen_.iteration, std::memory_order_seq_cst);
    capture.ready.store(false, std::memory_order_release);
    following_ = true;
    endless_reported_ = false;
    stall_ = {};
    syscall(SYS_tgkill, getpid(), loop_tid_, sample_signal());
    follow(now_us);
}

// Until the iteration is over: another one has begun, or no coroutine has run for a while and the loop polls.
void Watchdog::follow(int64_t now_us) {
    const bool next_iteration = pulse.iterations.load(std::memory_order_acquire) != seen_.iteration;
    const int64_t yielded_us = pulse.yielded_us.load(std::memory_order_relaxed);
    const bool polls = !pulse.running.load(std::memory_order_relaxed) && yielded_us && now_us - yielded_us > 5000;
    if (next_iteration || polls) {
        // It may have ended at the moment it was noticed.
        const bool noted = yielded_us != 0;
        end(noted ? yielded_us : began_us_ + warn_us_,
            noted ? pulse.stall_cpu_us.load(std::memory_order_relaxed) : loop_cpu_us());
    } else if (now_us - began_us_ > kEndlessUs && !endless_reported_) {
        endless_reported_ = true;
        Stall so_far = describe_capture();
        set_times(so_far, now_us, loop_cpu_us(), -1);
        // Not through the loop, which may never run again to log it.
        base::log::last_words("so far " + so_far.describe());
    }
}

void Watchdog::end(int64_t end_us, int64_t cpu_us) {
    following_ = false;
    pulse.stalled_iteration.store(0, std::memory_order_relaxed);
    Stall stall = describe_capture();
    const int64_t queued = queued_us();
    set_times(stall, end_us, cpu_us, queued >= 0 && seen_.queued_us >= 0 ? queued - seen_.queued_us : -1);
    queue_report(std::move(stall));
}

void Watchdog::set_times(Stall& stall, int64_t end_us, int64_t cpu_us, int64_t queued_us) const {
    // It may have ended before it was seen.
    const int64_t watched_us = std::max<int64_t>(0, end_us - seen_.at_us), busy_us = cpu_us - seen_.cpu_us;
    stall.ms = (end_us - began_us_) / 1000;
    stall.watched_ms = watched_us / 1000;
    stall.cpu_ms = busy_us / 1000;
    stall.queued_ms = queued_us < 0 ? -1 : queued_us / 1000;
    stall.cause = judge_stall(watched_us, busy_us, queued_us);
}

Stall Watchdog::describe_capture() const {
    Stall stall;
    if (!capture.ready.load(std::memory_order_acquire)) return stall;
    stall.coroutine.assign(capture.name.data(), capture.name_size);
    stall.context_id.assign(capture.id.data(), capture.id_size);
    const Symbols& symbols = Symbols::get();
    for (size_t i = 0; i < capture.count; ++i) {
        // All but the innermost are return addresses, which point after their call.
        std::string name = symbols.name(capture.calls[i] - (i ? 1 : 0));
        if (!is_plumbing(name)) stall.calls.push_back(without_template_arguments(name));
    }
    return stall;
}

void Watchdog::queue_report(Stall stall) {
    {
        std::lock_guard lock(mutex_);
        if (reported_.size() < kMaxStallsKept) reported_.push_back(std::move(stall));
    }
    tell_loop();
}

void Watchdog::tell_loop() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.fd(), &one, sizeof one);
}

int64_t Watchdog::loop_cpu_us() const {
    timespec cpu{};
    clock_gettime(loop_clock_, &cpu);
    return cpu.tv_sec * 1'000'000LL + cpu.tv_nsec / 1000;
}

int64_t Watchdog::queued_us() const { return read_times(schedstat_).queued_us; }

Watchdog* watchdog = nullptr;  // owned; exit() leaves it and its thread alone

}  // namespace

void WatchedThread::count_stall(int64_t ms) {
    ++stalls_.count;
    stalls_.total_ms += ms;
    stalls_.longest_ms = std::max(stalls_.longest_ms, ms);
}

std::span<WatchedThread* const> watched_threads() { return threads; }

void watch_thread(WatchedThread& thread) {
    const std::lock_guard lock(threads_mutex);
    threads.push_back(&thread);
}

void unwatch_thread(WatchedThread& thread) {
    const std::lock_guard lock(threads_mutex);
    std::erase(threads, &thread);
}

ThreadTimes thread_times(pid_t id) {
    const int file = ::open(fmt::format("/proc/self/task/{}/schedstat", id).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    const ThreadTimes times = read_times(file);
    ::close(file);
    return times;
}

}  // namespace detail

std::string_view stall_cause_name(StallCause cause) {
    switch (cause) {
        case StallCause::kBusy:
            return "busy";
        case StallCause::kBlocked:
            return "blocked";
        case StallCause::kNotScheduled:
            return "not scheduled";
        case StallCause::kUnknown:
            break;
    }
    return "unknown";
}

StallCause judge_stall(int64_t watched_us, int64_t cpu_us, int64_t queued_us) {
    constexpr int64_t kTooShortUs = 1000;  // the three clocks are not read at one moment
    if (watched_us > 0 && cpu_us * 2 >= watched_us) return StallCause::kBusy;
    if (queued_us < 0 || watched_us < kTooShortUs) return StallCause::kUnknown;
    // The larger part of the time that was not spent on the CPU.
    return queued_us * 2 >= watched_us - cpu_us ? StallCause::kNotScheduled : StallCause::kBlocked;
}

int64_t judge_pause(int64_t late_us, int64_t queued_us, int64_t suspended_us) {
    constexpr int64_t kLeastUs = 300'000;
    // Where the kernel does not tell how long a thread waits for a processor, a busy machine looks like a pause.
    constexpr int64_t kLeastUnknownUs = 3'000'000;
    const int64_t stood_us = late_us - std::max<int64_t>(queued_us, 0);
    const int64_t paused_us =
        std::max<int64_t>(stood_us >= (queued_us < 0 ? kLeastUnknownUs : kLeastUs) ? stood_us : 0, 0);
    return suspended_us >= kLeastUs ? paused_us + suspended_us : paused_us;
}

std::string Stall::describe() const {
    constexpr size_t kMaxNamed = 12;
    std::string text = thread.empty() ? fmt::format("the loop stalled for {} ms: coroutine {}", ms,
                                                    coroutine.empty() ? "not known" : coroutine)
                                      : fmt::format("{} stalled for {} ms: one call", thread, ms);
    text += fmt::format(", {} ms of processor time in the {} ms watched", cpu_ms, watched_ms);
    switch (cause) {
        case StallCause::kBusy:
            text += ": busy in our code";
            break;
        case StallCause::kBlocked:
            text += ": blocked in a system call";
            break;
        case StallCause::kNotScheduled:
            text += fmt::format(": not scheduled, other processes or threads had the processor for {} ms", queued_ms);
            break;
        case StallCause::kUnknown:
            text += ": blocked in a system call, or not scheduled";
            break;
    }
    for (size_t i = 0; i < std::min(calls.size(), kMaxNamed); ++i) text += (i ? " < " : "; at ") + calls[i];
    if (calls.size() > kMaxNamed) text += " < ...";
    return text;
}

std::optional<std::string> UnscheduledReport::add(int64_t stall_ms, int64_t now_ms) {
    ++count_;
    total_ms_ += stall_ms;
    longest_ms_ = std::max(longest_ms_, stall_ms);
    if (reported_ms_ && now_ms - *reported_ms_ < kIntervalMs) return std::nullopt;
    std::string line =
        fmt::format("the loop was not scheduled for {} ms: other processes or threads had the processor", longest_ms_);
    if (count_ > 1)
        line = fmt::format(
            "the loop was not scheduled {} times, {} ms in all and {} ms at most: other processes or threads had the "
            "processor",
            count_, total_ms_, longest_ms_);
    *this = UnscheduledReport();
    reported_ms_ = now_ms;
    return line;
}

void StallMinute::add(int64_t stall_ms, int64_t now_ms) {
    const int64_t number = now_ms / 1000;
    Second& second = seconds_[static_cast<size_t>(number % kSeconds)];
    if (second.number != number) second = {number, 0};
    second.longest_ms = std::max(second.longest_ms, stall_ms);
}

int64_t StallMinute::longest_ms(int64_t now_ms) const {
    int64_t longest = 0;
    for (const Second& second : seconds_)
        if (second.number > now_ms / 1000 - kSeconds) longest = std::max(longest, second.longest_ms);
    return longest;
}

base::Result<void> watch_stalls(int64_t warn_ms) {
    if (detail::watchdog) {
        detail::watchdog->set(warn_ms);
        return {};
    }
    if (warn_ms == 0) return {};
    auto fresh = std::make_unique<detail::Watchdog>();
    TRY(fresh->start(warn_ms), "the watchdog");
    detail::watchdog = fresh.release();
    detail::stop_at_shutdown(detail::Service::kWatchdog, [] {
        detail::watchdog->stop();
        std::unique_ptr<detail::Watchdog>(std::exchange(detail::watchdog, nullptr)).reset();
    });
    return {};
}

const LoopStats& loop_stats() {
    detail::stats.iterations = detail::pulse.iterations.load(std::memory_order_relaxed);
    return detail::stats;
}

}  // namespace runtime
