#include "runtime/loop/reactor.h"

#include <unistd.h>

#include <array>
#include <vector>

#include "base/clock.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/coroutine_state.h"
#include "runtime/loop/cpu_slice.h"
#include "runtime/loop/immortal.h"

namespace runtime::detail {

// Events carry descriptor and generation. A descriptor that was closed earlier in the same batch, and perhaps reused,
// has another generation, so an event never reaches the wrong socket or freed memory.
struct Reactor {
    struct Slot {
        Watch* watch = nullptr;
        uint32_t generation = 0;
    };
    struct Posted {
        int fd;
        uint32_t generation;
        uint32_t events;
    };

    int epoll = -1;
    st_netfd_t epoll_netfd = nullptr;
    std::vector<Slot> slots;  // by descriptor
    std::vector<Posted> posted;
    base::Ref<Coroutine> drainer;
    base::Ref<Coroutine> poster;
    const Watch* reading = nullptr;  // the watch whose on_readable() is running
    size_t reading_left = 0;         // bytes that it may still read
    bool stopping = false;
    ReactorCounters counters;

    Slot* find(int fd, uint32_t generation) {
        if (static_cast<size_t>(fd) >= slots.size()) return nullptr;
        Slot& slot = slots[static_cast<size_t>(fd)];
        return slot.watch && slot.generation == generation ? &slot : nullptr;
    }
    void deliver(int fd, uint32_t generation, uint32_t events) {
        NoYield guard;
        if (auto* slot = find(fd, generation)) {
            begin_event();
            slot->watch->on_events(events);
        } else {
            ++counters.stale;
        }
    }
    void post(int fd, uint32_t events) {
        posted.push_back({fd, slots[static_cast<size_t>(fd)].generation, events});
        wake(*poster);
    }
    template <class Events, class Unpack>
    void deliver_all(const Events& events, size_t count, Unpack unpack);
    void drain();
    void deliver_posted();
};

namespace {
Immortal<Reactor> immortal_reactor;
Reactor& reactor = immortal_reactor.value;

// Events fetched at once: the coroutines they wake run before the next batch is fetched. So many connections may end in
// one iteration, of which each takes some 35 us on a slow machine, and 64 of them less than half of 5 ms.
constexpr int kBatch = 64;
// The number of events delivered between two checks of the clock.
constexpr size_t kCheckEvery = 8;
// Parked handlers run on these stacks.
constexpr size_t kHandlerStackBytes = 256 * 1024;
constexpr uint32_t kEndEvents = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
constexpr uint32_t kGoneEvents = EPOLLHUP | EPOLLERR;
}  // namespace

// Yields when it has used the loop for long; the target of an event may be gone by then, which deliver() detects.
template <class Events, class Unpack>
void Reactor::deliver_all(const Events& events, size_t count, Unpack unpack) {
    int64_t began_us = base::monotonic_us();
    for (size_t i = 0; i < count && !stopping; ++i) {
        unpack(events[i]);
        if (i % kCheckEvery != kCheckEvery - 1 || !slice_is_over(base::monotonic_us() - began_us)) continue;
        static_cast<void>(yield());
        began_us = base::monotonic_us();
    }
}

void Reactor::drain() {
    static std::array<epoll_event, kBatch> events;
    while (!stopping) {
        const int ready = [&] {
            const WaitScope waiting(*drainer, {"events of descriptors", epoll}, Deadline::never());
            return st_netfd_poll(epoll_netfd, POLLIN, ST_UTIME_NO_TIMEOUT);
        }();
        if (ready < 0) continue;
        const int count = epoll_wait(epoll, events.data(), kBatch, 0);
        ++counters.iterations;
        deliver_all(events, static_cast<size_t>(std::max(0, count)), [this](const epoll_event& event) {
            ++counters.events;
            deliver(static_cast<int>(event.data.u64 & UINT32_MAX), static_cast<uint32_t>(event.data.u64 >> 32),
                    event.events);
        });
    }
}

void Reactor::deliver_posted() {
    while (!stopping) {
        if (posted.empty()) {
            auto woken = suspend(Deadline::never(), {"posted events"}, false);
            CHECK(woken == Wake::kWoken);
            continue;
        }
        // Handlers may post again: those events are for the next iteration.
        const auto batch = std::exchange(posted, {});
        deliver_all(batch, batch.size(), [this](const Posted& one) { deliver(one.fd, one.generation, one.events); });
        if (!posted.empty()) static_cast<void>(yield());
    }
}

base::Result<void> start_reactor() {
    reactor.stopping = false;
    reactor.counters = {};
    reactor.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (reactor.epoll < 0) return base::fail_errno("epoll_create1", errno);
    reactor.epoll_netfd = st_netfd_open(reactor.epoll);
    if (!reactor.epoll_netfd) return base::fail_errno("st_netfd_open", errno);
    reactor.drainer = start_coroutine(
        "events", [] { reactor.drain(); }, kHandlerStackBytes);
    reactor.poster = start_coroutine(
        "posted", [] { reactor.deliver_posted(); }, kHandlerStackBytes);
    if (!reactor.drainer || !reactor.poster) return base::fail_errno("no memory for the event loop's stack", ENOMEM);
    return yield();  // so that both have started waiting
}

void stop_reactor() {
    reactor.stopping = true;
    st_thread_interrupt(reactor.drainer->thread);
    wake(*reactor.poster);
    for (auto* coroutine : {&reactor.drainer, &reactor.poster}) {
        join_uncancelled(**coroutine);
        coroutine->reset();
    }
    for (const auto& slot : reactor.slots) CHECK(slot.watch == nullptr);
    reactor.slots = {};
    reactor.posted = {};
    st_netfd_close(reactor.epoll_netfd);
}

const ReactorCounters& reactor_counters() { return reactor.counters; }

base::Result<void> Watch::open(int fd, uint32_t events) {
    CHECK(fd_ < 0 && fd >= 0);
    const auto index = static_cast<size_t>(fd);
    if (index >= reactor.slots.size()) reactor.slots.resize(std::max(index + 1, reactor.slots.size() * 2));
    auto& slot = reactor.slots[index];
    CHECK(slot.watch == nullptr);
    epoll_event event{};
    event.events = events;
    event.data.u64 = static_cast<uint64_t>(slot.generation) << 32 | static_cast<uint32_t>(fd);
    if (epoll_ctl(reactor.epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        const int error = errno;
        ::close(fd);
        return base::fail_errno("adding a descriptor to the event loop", error);
    }
    slot.watch = this;
    fd_ = fd;
    readable_ = writable_ = true;
    ended_ = gone_ = wants_write_ = false;
    arms_output_ = events == kInputEdges;
    return {};
}

void Watch::forget() {
    if (fd_ < 0) return;
    CHECK(parked_ || (!reader_ && !writer_));
    auto& slot = reactor.slots[static_cast<size_t>(fd_)];
    slot.watch = nullptr;
    ++slot.generation;
    unpark();
    pacer_.reset();
    fd_ = -1;
}

void Watch::close() {
    const int fd = fd_;
    forget();
    // Closing removes it from the set, because our descriptors are never duplicated.
    if (fd >= 0) ::close(fd);
}

void Watch::change_events(uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.u64 =
        static_cast<uint64_t>(reactor.slots[static_cast<size_t>(fd_)].generation) << 32 | static_cast<uint32_t>(fd_);
    epoll_ctl(reactor.epoll, EPOLL_CTL_MOD, fd_, &event);
}

void Watch::pace(int64_t interval_ms) {
    interval_ms = ReadPacer::rounded(interval_ms);
    if (fd_ < 0 || interval_ms == (pacer_ ? pacer_->interval_ms() : 0)) return;
    if (interval_ms == 0) {
        pacer_.reset();
        return change_events(kEdges);
    }
    if (!pacer_) {
        pacer_ = std::make_unique<ReadPacer>(*this);
        change_events(kEdges & ~uint32_t{EPOLLIN});
    }
    pacer_->set_interval(interval_ms);
}

void Watch::poll() {
    readable_ = true;
    if (reader_ && !cancels_) wake(*reader_);
}

bool Watch::poll_now() {
    if (!pacer_ || parked_ || !reader_ || cancels_) return false;
    pacer_->skip_next();
    poll();
    return true;
}

base::Result<void> Watch::wait_readable(Deadline deadline) {
    CHECK(!parked_ && !reader_);
    while (!readable_) {
        // A paced reader checks its deadline at every poll, which is cheaper than a timer.
        if (pacer_ && deadline.passed()) return wake_result(Wake::kTimeout);
        reader_ = &current();
        const Wake how = suspend(pacer_ ? Deadline::never() : deadline, {"input", fd_});
        reader_ = nullptr;
        if (readable_ && how != Wake::kCancelled) break;
        if (how != Wake::kWoken) return wake_result(how);
    }
    return {};
}

base::Result<void> Watch::wait_writable(Deadline deadline) {
    CHECK(!parked_ && !writer_);
    while (!writable_) {
        writer_ = &current();
        const Wake how = suspend(deadline, {"room for output", fd_});
        writer_ = nullptr;
        if (writable_ && how != Wake::kCancelled) break;
        if (how != Wake::kWoken) return wake_result(how);
    }
    return {};
}

void Watch::cancel_at_end(bool on) {
    CHECK(!parked_ && cancels_ != on && (cancels_ || !reader_));
    cancels_ = on;
    reader_ = on ? &current() : nullptr;
    cancel_if_ended();
}

void Watch::cancel_if_ended() {
    if (cancels_ && ended_) cancel(*reader_);
}

void Watch::park(ParkedHandler& handler) {
    CHECK(fd_ >= 0 && !parked_ && !reader_ && !writer_);
    pace(0);
    handler_ = &handler;
    parked_ = true;
    const uint32_t pending =
        (readable_ ? EPOLLIN : 0u) | (gone_ ? EPOLLHUP : 0u) | (wants_write_ && writable_ ? EPOLLOUT : 0u);
    if (pending) reactor.post(fd_, pending);
}

void Watch::unpark() {
    if (!parked_) return;
    parked_ = false;
    reader_ = nullptr;
}

void Watch::post_readable() { reactor.post(fd_, EPOLLIN); }

size_t Watch::room_to_read() const { return reactor.reading == this ? reactor.reading_left : SIZE_MAX; }

void Watch::was_read(size_t bytes) {
    if (reactor.reading != this) return;
    reactor.reading_left -= bytes;
    if (reactor.reading_left == 0) post_readable();
}

void Watch::on_events(uint32_t events) {
    if (events & (EPOLLIN | kEndEvents)) readable_ = true;
    if (events & (EPOLLOUT | kGoneEvents)) writable_ = true;
    if (events & EPOLLOUT) edge_ = true;
    if (events & EPOLLOUT && arms_output_) change_events(kInputEdges);
    if (events & kEndEvents) ended_ = true;
    if (events & kGoneEvents) gone_ = true;
    if (parked_) return call_handler(events);
    cancel_if_ended();
    if (reader_ && !cancels_ && readable_) wake(*reader_);
    if (writer_ && writable_) wake(*writer_);
}

// Each call may destroy this object or unpark it.
void Watch::call_handler(uint32_t events) {
    const int fd = fd_;
    const uint32_t generation = reactor.slots[static_cast<size_t>(fd)].generation;
    const auto still_parked = [&] {
        auto* slot = reactor.find(fd, generation);
        return slot && slot->watch->parked_;
    };
    if (events & (EPOLLIN | EPOLLRDHUP) && !(events & EPOLLERR)) {
        reactor.reading = this;
        reactor.reading_left = kHandlerBytes;
        handler_->on_readable();
        reactor.reading = nullptr;
        if (!still_parked()) return;
    }
    if (events & EPOLLOUT && wants_write_ && !(events & kGoneEvents)) {
        wants_write_ = false;
        handler_->on_writable();
        if (!still_parked()) return;
    }
    if (events & kGoneEvents) handler_->on_hangup();
}

}  // namespace runtime::detail
