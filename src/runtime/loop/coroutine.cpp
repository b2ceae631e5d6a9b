#include "runtime/loop/coroutine.h"

#include <pthread.h>

#include <csignal>
#include <map>

#include "base/log.h"
#include "runtime/loop/coroutine_state.h"
#include "runtime/loop/cpu_slice.h"
#include "runtime/loop/immortal.h"
#include "runtime/loop/random.h"
#include "runtime/loop/reactor.h"
#include "runtime/loop/services.h"
#include "runtime/loop/timers.h"

namespace runtime {
namespace detail {
namespace {

// After this many units of work a coroutine lets others run.
constexpr uint32_t kProgressBound = 1 << 20;
// Processing bytes may take much longer than reading them: the clock is checked after this many units.
constexpr uint32_t kClockCheckUnits = 8 * 1024;

struct State {
    bool running = false;
    pthread_t thread{};  // the loop's thread
    int key = -1;        // of state-threads' thread-specific data: the Coroutine
    base::Ref<Coroutine> main;
    Coroutine* first = nullptr;  // of all that have not ended, without the main one
    size_t count = 0;            // the number of those
    size_t max_count = SIZE_MAX;
    int no_yield = 0;
    Timeouts timeouts;
    base::Ref<Coroutine> timeouts_runner;
    bool timeouts_stop = false;
    std::map<std::string, CoroutineInfo, std::less<>> high_water_marks;  // by name; there are few names
};
Immortal<State> immortal_state;
State& state = immortal_state.value;

// state-threads' POLL mode rounds the time to its next timer down to whole milliseconds and polls with 0 through the
// last one. With a clock in whole milliseconds, and deadlines rounded up to them, nothing is rounded off and nothing
// spins; a timer is at most 2 ms late.
constexpr int64_t kTick = 1000;

constexpr size_t kTimeoutsStackBytes = 32 * 1024;

bool idle_stack_unknown = false;

// state-threads reads the time on its idle thread's stack too.
__attribute__((no_sanitize("address"))) st_utime_t clock_us() {
    if (idle_stack_unknown) [[unlikely]] {
        idle_stack_unknown = false;
        register_idle_stack(st_thread_self());
    }
    const int64_t now = base::monotonic_us();
    // state-threads reads the time after each poll, when no coroutine runs. The watchdog's thread reads the machine's
    // clock.
    if (!pulse.running.load(std::memory_order_relaxed)) begin_iteration(now);
    return static_cast<st_utime_t>(loop_time(now) / kTick * kTick);
}

st_utime_t timeout_until(Deadline deadline) {
    if (deadline.is_never()) return ST_UTIME_NO_TIMEOUT;
    const int64_t last = static_cast<int64_t>(st_utime_last_clock());
    if (deadline.at_us() <= last) return 0;
    return static_cast<st_utime_t>((deadline.at_us() - last + kTick - 1) / kTick * kTick);
}

bool is_far(Deadline deadline) {
    return !deadline.is_never() && deadline.at_us() - static_cast<int64_t>(st_utime_last_clock()) >= Timeouts::kFarUs;
}

void link(Coroutine& coroutine) {
    coroutine.next = state.first;
    if (state.first) state.first->previous = &coroutine;
    state.first = &coroutine;
    ++state.count;
}

void unlink(Coroutine& coroutine) {
    (coroutine.previous ? coroutine.previous->next : state.first) = coroutine.next;
    if (coroutine.next) coroutine.next->previous = coroutine.previous;
    coroutine.previous = coroutine.next = nullptr;
    --state.count;
}

void record_stack_use([[maybe_unused]] const Coroutine& coroutine) {
#ifdef SRS_DEBUG
    // Numbers in names ("rtmp-17") would make the table grow without bound; names are for kinds of coroutines.
    constexpr size_t kNamesKept = 1000;
    auto at = state.high_water_marks.find(coroutine.name);
    if (at == state.high_water_marks.end()) {
        if (state.high_water_marks.size() >= kNamesKept) return;
        at = state.high_water_marks.emplace(coroutine.name, CoroutineInfo{}).first;
    }
    auto& mark = at->second;
    mark.name = coroutine.name;
    mark.stack_bytes = coroutine.stack->size();
    mark.stack_used_bytes = std::max(mark.stack_used_bytes, painted_stack_used(*coroutine.stack));
#endif
}

void finish(Coroutine& coroutine) {
    coroutine.body = nullptr;
    record_stack_use(coroutine);
    coroutine.done = true;
    coroutine.ended.wake_all();
    if (coroutine.condition) st_cond_destroy(coroutine.condition);
    coroutine.condition = nullptr;
    state.timeouts.forget(coroutine);
    unlink(coroutine);
    leave_stack(*coroutine.stack);
    st_thread_setspecific(state.key, nullptr);
    no_coroutine_runs();
    coroutine.self.reset();
}

#ifdef SRS_SANITIZER
__attribute__((no_sanitize("address"))) void switched_in() {
    if (auto* coroutine = current_or_null()) announce_stack(coroutine->stack_low, coroutine->stack_top);
}
#endif

base::Result<void> start_timeouts() {
    state.timeouts_stop = false;
    state.timeouts_runner = start_coroutine(
        "timeouts", [] { state.timeouts.run(state.timeouts_stop); }, kTimeoutsStackBytes);
    if (!state.timeouts_runner) return base::fail_errno("no memory for the stack of timeouts", ENOMEM);
    return {};
}

void stop_timeouts() {
    state.timeouts_stop = true;
    wake(*state.timeouts_runner);
    join_uncancelled(*state.timeouts_runner);
    state.timeouts_runner.reset();
}

base::Result<void> init_state_threads() {
    static bool done = false;
    if (done) return {};
    if (st_set_eventsys(ST_EVENTSYS_POLL) < 0) return base::fail_errno("choosing state-threads' poll mode", errno);
    st_set_utime_function(clock_us);
    // The memory that st_init() allocates for its idle thread is referenced only from that thread's own stack, which
    // the leak checker cannot scan.
    pause_leak_checker();
    const int started = st_init();
    resume_leak_checker();
    if (started < 0) return base::fail_errno("starting state-threads", errno);
    if (std::string_view(st_get_eventsys_name()) != "poll") {
        return base::fail(base::Code::kSystem,
                          fmt::format("state-threads runs in mode {}, not poll", st_get_eventsys_name()));
    }
    if (st_key_create(&state.key, nullptr) < 0) return base::fail_errno("st_key_create", errno);
    // Switch to the idle thread once, before any other stack exists that could be taken for a part of its stack.
    idle_stack_unknown = true;
    st_usleep(0);
#ifdef SRS_SANITIZER
    st_set_switch_in_cb(switched_in);
#endif
    done = true;
    return {};
}

// On another thread, such as the watchdog's for its last words: none, because the running coroutine may end at any
// moment.
std::string_view log_context() {
    if (!pthread_equal(pthread_self(), state.thread)) return "-";
    auto* coroutine = current_or_null();
    return coroutine ? std::string_view(coroutine->context_id) : std::string_view();
}

}  // namespace

Coroutine* current_or_null() {
    return state.running ? static_cast<Coroutine*>(st_thread_getspecific(state.key)) : nullptr;
}

Coroutine& current() {
    auto* coroutine = current_or_null();
    CHECK(coroutine != nullptr);
    return *coroutine;
}

Coroutine* main_coroutine() { return state.main.get(); }
Coroutine* first_coroutine() { return state.first; }
Timeouts& timeouts() { return state.timeouts; }
size_t living_coroutines() { return state.count; }

Wake suspend(Deadline deadline, Waiting why, bool cancellable) {
    Coroutine& me = current();
    CHECK(state.no_yield == 0);
    if (cancellable && me.cancelled) return Wake::kCancelled;
    if (!me.condition) me.condition = st_cond_new();
    CHECK(me.condition != nullptr);
    me.progress = me.progress_checked = 0;
    const bool late = [&] {
        const WaitScope waiting(me, why, deadline);
        if (is_far(deadline) && &me != state.timeouts_runner.get()) return state.timeouts.wait(me, deadline);
        return st_cond_timedwait(me.condition, timeout_until(deadline)) < 0;
    }();
    if (cancellable && me.cancelled) return Wake::kCancelled;
    return late ? Wake::kTimeout : Wake::kWoken;
}

void wake(Coroutine& coroutine) {
    if (coroutine.condition) st_cond_signal(coroutine.condition);
}

void cancel(Coroutine& coroutine) {
    if (coroutine.cancelled) return;
    coroutine.cancelled = true;
    wake(coroutine);
}

base::Result<void> wake_result(Wake wake, std::source_location where) {
    if (wake == Wake::kWoken) [[likely]]
        return {};
    if (wake == Wake::kTimeout) return base::fail(base::Code::kTimeout, "timed out", where);
    return base::fail(base::Code::kCancelled, "cancelled", where);
}

base::Result<void> account(size_t units) {
    Coroutine& me = current();
    if (me.cancelled) return wake_result(Wake::kCancelled);
    me.progress += static_cast<uint32_t>(std::min<size_t>(units, kProgressBound));
    if (me.progress >= kProgressBound) return yield();
    if (me.progress - me.progress_checked < kClockCheckUnits) return {};
    me.progress_checked = me.progress;
    return iteration_is_long(kMaxIterationUs) ? yield() : base::Result<void>();
}

NoYield::NoYield() { ++state.no_yield; }
NoYield::~NoYield() { --state.no_yield; }

base::Ref<Coroutine> start_coroutine(std::string name, std::move_only_function<void()> body, size_t stack_bytes) {
    CHECK(state.running);
    auto coroutine = base::make_ref<Coroutine>();
    coroutine->name = std::move(name);
    coroutine->context_id = current().context_id;
    coroutine->body = std::move(body);
#ifdef SRS_SANITIZER
    stack_bytes *= 4;  // the sanitizer's frames are that much larger; it is only address space
#endif
    errno = EAGAIN;
    if (state.count + 1 < state.max_count)  // including the first one, as in coroutine_count()
        coroutine->thread = st_thread_create(first_frame, coroutine.get(), 0, static_cast<int>(stack_bytes));
    if (!coroutine->thread) {
        base::log::write(base::log::Level::kError, "no memory for a coroutine's stack", errno);
        return {};
    }
    coroutine->stack = &take_stack(coroutine->thread, stack_bytes);
    coroutine->stack_low = coroutine->stack->low;
    coroutine->stack_top = coroutine->stack->top;
    coroutine->self = coroutine;
    link(*coroutine);
    return coroutine;
}

void join_uncancelled(Coroutine& coroutine) {
    base::Ref<Coroutine> keep(&coroutine);
    while (!coroutine.done) coroutine.ended.wait_uncancelled();
}

}  // namespace detail

using detail::state;

// The address sanitizer must be told of the new stack before an instrumented function runs on it.
extern "C" __attribute__((no_sanitize("address"))) void* runtime_coroutine_main(void* argument) {
    using namespace detail;
    auto* coroutine = static_cast<Coroutine*>(argument);
    announce_stack(coroutine->stack_low, coroutine->stack_top);
    st_thread_setspecific(state.key, coroutine);
    paint_stack(*coroutine->stack);
    coroutine->started = true;
    coroutine_runs(*coroutine);
    coroutine->body();
    finish(*coroutine);
    return nullptr;
}

base::Result<void> init() {
    CHECK(!state.running);
    std::signal(SIGPIPE, SIG_IGN);
    TRY(detail::init_state_threads());
    state.main = base::make_ref<detail::Coroutine>();
    state.main->name = "main";
    state.main->thread = st_thread_self();
    detail::thread_stack_bounds(state.main->stack_low, state.main->stack_top);
    st_thread_setspecific(state.key, state.main.get());
    state.running = true;
    state.thread = pthread_self();
    detail::coroutine_runs(*state.main);
    detail::install_fault_handler();
    base::log::set_context_provider(detail::log_context);
    TRY(detail::start_timeouts());
    TRY(detail::start_timers());
    return detail::start_reactor();
}

void shutdown() {
    CHECK(state.running && &detail::current() == state.main.get());
    detail::stop_services();
    detail::stop_reactor();
    detail::stop_timers();
    detail::stop_timeouts();
    base::log::set_context_provider(nullptr);
    st_thread_setspecific(state.key, nullptr);
    if (state.main->condition) st_cond_destroy(state.main->condition);
    state.running = false;
    detail::no_coroutine_runs();
    state.main.reset();
    state.high_water_marks.clear();
}

Task::Task() = default;
Task::Task(base::Ref<detail::Coroutine> coroutine) : coroutine_(std::move(coroutine)) {}
Task::Task(const Task&) = default;
Task::Task(Task&&) noexcept = default;
Task& Task::operator=(Task other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
}
Task::~Task() = default;

Task::operator bool() const { return static_cast<bool>(coroutine_); }
bool Task::done() const { return !coroutine_ || coroutine_->done; }

void Task::cancel() {
    if (!done()) detail::cancel(*coroutine_);
}

base::Result<void> Task::join(Deadline deadline) {
    auto keep = coroutine_;
    if (!keep) return {};
    CHECK(keep.get() != &detail::current());
    while (!keep->done) TRY(keep->ended.wait(deadline, "the end of a coroutine"));
    return {};
}

void Task::cancel_and_join() {
    if (done()) return;
    CHECK(coroutine_.get() != &detail::current());
    cancel();
    detail::join_uncancelled(*coroutine_);
}

Task spawn(std::string name, std::move_only_function<void()> body, SpawnOptions options) {
    return Task(detail::start_coroutine(std::move(name), std::move(body), options.stack_bytes));
}

base::Result<void> sleep_until(Deadline deadline) {
    while (true) {
        auto woken = detail::suspend(deadline, {"a timer"});
        if (woken == detail::Wake::kTimeout) return {};
        if (woken == detail::Wake::kCancelled) return detail::wake_result(woken);
    }
}

base::Result<void> sleep_ms(int64_t ms) { return sleep_until(Deadline::in_ms(std::max<int64_t>(0, ms))); }

base::Result<void> sleep_to_multiple(int64_t ms) {
    return sleep_until(Deadline::at_us((now_ms() / ms + 1) * ms * 1000));
}

// A deadline in the past: state-threads runs every ready coroutine once, polls, and returns.
base::Result<void> yield() { return sleep_until(Deadline::at_us(0)); }

bool cancelled() { return detail::current().cancelled; }
std::string_view current_name() { return detail::current().name; }
void set_context_id(std::string id) { detail::current().context_id = std::move(id); }
const std::string& context_id() { return detail::current().context_id; }

std::string new_context_id() {
    static constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
    uint64_t value = random_u64();
    std::string id(8, '0');
    for (char& digit : id) {
        digit = kDigits[value % kDigits.size()];
        value /= kDigits.size();
    }
    return id;
}

ContextScope::ContextScope(const std::string& id) : previous_(std::exchange(detail::current().context_id, id)) {}
ContextScope::~ContextScope() { detail::current().context_id = std::move(previous_); }

void limit_coroutines(size_t max_count) { state.max_count = max_count; }

std::vector<CoroutineInfo> stack_high_water_marks() {
    for (auto* c = state.first; c; c = c->next) {
        if (c->started) detail::record_stack_use(*c);
    }
    std::vector<CoroutineInfo> all;
    for (const auto& [name, mark] : state.high_water_marks) all.push_back(mark);
    return all;
}

}  // namespace runtime
