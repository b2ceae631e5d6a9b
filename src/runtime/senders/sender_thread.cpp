#include "runtime/senders/sender_thread.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/clock.h"
#include "runtime/threads/futex.h"

namespace runtime::detail {

namespace {

constexpr int kRoomMs = 20;  // the longest wait for room in a socket of datagrams
constexpr size_t kFlushBytes = 128 * 1024;
// Added to the niceness: where there is not a processor for each thread, the loop, on which all clients depend, is not
// queued behind what it has lent. Programs of the default priority still leave a sender thread a quarter of a
// processor.
constexpr int kNiceness = 5;

}  // namespace

base::Result<void> SenderThread::start() {
    pthread_t thread;
    if (const int error = pthread_create(&thread, nullptr, &SenderThread::body, this))
        return base::fail_errno("starting a sender thread", error);
    thread_ = thread;
    pthread_setname_np(thread, "sender");
    watch_thread(*this);
    return {};
}

void SenderThread::stop() {
    if (!thread_) return;
    unwatch_thread(*this);
    stopping_.store(true, std::memory_order_seq_cst);
    publish();
    asleep_.store(0, std::memory_order_seq_cst);
    futex_wake(asleep_);
    pthread_join(*std::exchange(thread_, std::nullopt), nullptr);
}

void* SenderThread::body(void* self) {
    SenderThread& thread = *static_cast<SenderThread*>(self);
    thread.begin_on_thread();
    // Of this thread alone, and always allowed.
    [[maybe_unused]] const int niceness = nice(kNiceness);
    while (true) {
        if (thread.run(SIZE_MAX) > 0) continue;
        if (thread.stopping_.load(std::memory_order_seq_cst)) return nullptr;
        thread.sleep();
    }
}

// The loop publishes and then looks at asleep_; the thread sets asleep_ and then looks for what is published. One of
// them sees the other.
void SenderThread::sleep() {
    asleep_.store(1, std::memory_order_seq_cst);
    if (ring_.next().empty() && !stopping_.load(std::memory_order_seq_cst)) futex_wait(asleep_, 1u);
    asleep_.store(0, std::memory_order_seq_cst);
}

void SenderThread::publish() {
    unpublished_ = 0;
    if (!ring_.has_unpublished() && !stopping_.load(std::memory_order_relaxed)) return;
    ring_.publish();
    if (asleep_.load(std::memory_order_seq_cst) == 0) return;
    asleep_.store(0, std::memory_order_seq_cst);
    futex_wake(asleep_);
}

size_t SenderThread::run(size_t entries) {
    size_t done = 0;
    for (; done < entries; ++done) {
        const std::span<uint8_t> entry = ring_.next();
        if (entry.empty()) break;
        EntryKind kind;
        std::memcpy(&kind, entry.data(), sizeof kind);
        if (kind == EntryKind::kRecord)
            run_record(entry);
        else if (kind == EntryKind::kDatagram)
            run_datagram(entry);
        else
            run_job(entry);
        ring_.advance(entry);
        ring_.release();
    }
    entries_.add(done);
    if (arena_ && !arena_->empty()) flush();
    return done;
}

size_t SenderThread::run_manually(size_t entries) {
    publish();
    const size_t done = run(entries);
    if (ring_.next().empty()) asleep_.store(1, std::memory_order_release);
    return done;
}

// Datagrams before it do not wait for its write.
void SenderThread::run_job(std::span<uint8_t> entry) {
    if (arena_ && !arena_->empty()) flush();
    JobEntry at;
    std::memcpy(&at, entry.data(), sizeof at);
    if (at.job == begun_ || begin(*at.job)) end(*at.job);
}

void SenderThread::run_record(std::span<uint8_t> entry) {
    const auto& head = *reinterpret_cast<const RecordHead*>(entry.data());
    const DatagramTarget& target = head.route->target();
    uint8_t* room = reserve(target, head.max_bytes);
    commit(room ? head.route->write(entry.data() + sizeof head, room) : 0, target, head.flow);
}

void SenderThread::run_datagram(std::span<uint8_t> entry) {
    const auto& head = *reinterpret_cast<const DatagramHead*>(entry.data());
    send({entry.data() + sizeof head, head.bytes}, head.target);
}

void SenderThread::send(std::span<const uint8_t> bytes, const DatagramTarget& target) {
    uint8_t* room = reserve(target, bytes.size());
    if (room) std::memcpy(room, bytes.data(), bytes.size());
    commit(room ? bytes.size() : 0, target, 0);
}

// Null: there is no room, and the datagram is lost.
uint8_t* SenderThread::reserve(const DatagramTarget& target, size_t max_bytes) {
    use_socket(target);
    if (arena_->used() < kFlushBytes)
        if (uint8_t* room = arena_->reserve(max_bytes)) return room;
    flush();
    uint8_t* room = arena_->reserve(max_bytes);
    if (!room) count_sent(0, 1);
    return room;
}

void SenderThread::commit(size_t bytes, const DatagramTarget& target, uint32_t flow) {
    if (bytes == 0) return;
    if (const uint16_t number = target.source; number != 0) {
        if (sources_.size() < number) sources_.resize(number);
        sources_[number - 1] = target.source_address;
    }
    arena_->commit(bytes, target.to, flow, target.source);
}

void SenderThread::use_socket(const DatagramTarget& target) {
    // A descriptor may be another socket's since.
    if (arena_ && fd_ == target.fd && v6_ == target.v6) return;
    if (!arena_) arena_ = std::make_unique<UdpArena>();
    if (!arena_->empty()) flush();
    fd_ = target.fd;
    v6_ = target.v6;
    sources_.clear();
    arena_->use(*this, target.v6, target.gso);
}

// A socket that takes nothing is waited for; what it does not take then is lost.
void SenderThread::flush() {
    while (!arena_->flush()) {
        const int64_t began_us = base::monotonic_us();
        pollfd wanted{.fd = fd_, .events = POLLOUT, .revents = 0};
        const int ready = poll(&wanted, 1, kRoomMs);
        waited_us_.add(static_cast<uint64_t>(base::monotonic_us() - began_us));
        if (ready == 0) return arena_->drop_all();
    }
}

int SenderThread::send_messages(std::span<mmsghdr> messages) {
    const int sent = sendmmsg(fd_, messages.data(), static_cast<unsigned>(messages.size()), MSG_DONTWAIT);
    return sent >= 0 ? sent : -errno;
}

void SenderThread::count_sent(size_t sent, size_t lost) {
    if (sent > 0) sent_.add(sent);
    if (lost > 0) lost_.add(lost);
}

const base::IpAddress* SenderThread::source(uint16_t number) const {
    return number == 0 || number > sources_.size() ? nullptr : &sources_[number - 1];
}

// False: it was revoked.
bool SenderThread::begin(SendJob& job) {
    auto expected = SendJob::State::kQueued;
    return job.state_.compare_exchange_strong(expected, SendJob::State::kRunning, std::memory_order_acq_rel);
}

void SenderThread::end(SendJob& job) {
    begun_ = nullptr;
    job.result = job.write.call(job.write.stream, {job.parts.data(), job.part_count}, *this);
    // Before it is done: what the loop sends next does not overtake them.
    if (arena_ && !arena_->empty()) flush();
    if (job.wants_time) job.done_us = base::monotonic_us();
    const bool noticed = job.notice || job.result.bytes < 0 || job.result.blocked;
    job.noticed_ = noticed;
    // From here on the loop may collect it, but it stays in the pool until its notice was taken.
    const auto before = job.state_.exchange(SendJob::State::kDone, std::memory_order_acq_rel);
    if (before == SendJob::State::kAwaited) futex_wake(job.state_);
    if (noticed) notices_.push(job);
}

void SenderThread::begin_job() {
    const std::span<uint8_t> entry = ring_.next();
    CHECK(!entry.empty());
    JobEntry at;
    std::memcpy(&at, entry.data(), sizeof at);
    CHECK(at.kind == EntryKind::kJob && begin(*at.job));
    begun_ = at.job;
}

void SenderThread::end_job() {
    if (begun_) run_manually(1);
}

SenderThreadStats SenderThread::stats() const {
    SenderThreadStats thread{.sent = sent_.get(),
                             .lost = lost_.get(),
                             .entries = entries_.get(),
                             .waited_us = static_cast<int64_t>(waited_us_.get()),
                             .stalls = stalls()};
    clockid_t clock;
    timespec used{};
    if (thread_ && pthread_getcpuclockid(*thread_, &clock) == 0 && clock_gettime(clock, &used) == 0)
        thread.busy_us = used.tv_sec * 1'000'000 + used.tv_nsec / 1000;
    return thread;
}

// ---- Notices

base::Result<void> SendNotices::open() {
    fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd_ < 0) return base::fail_errno("eventfd", errno);
    TRY(watch_.open(fd_, EPOLLIN));
    watch_.park(*this);
    return {};
}

void SendNotices::push(SendJob& job) {
    job.next_notice_ = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(job.next_notice_, &job, std::memory_order_acq_rel)) continue;
    if (job.next_notice_) return;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof one);
}

void SendNotices::on_readable() {
    uint64_t count;
    [[maybe_unused]] const ssize_t got = read(fd_, &count, sizeof count);
    SendJob* job = first_.exchange(nullptr, std::memory_order_acq_rel);
    while (job) {
        SendJob* next = job->next_notice_;
        job->taken_ = true;
        // Not one that was collected meanwhile.
        if (job->state_.load(std::memory_order_acquire) == SendJob::State::kDone) job->user->on_send_done(*job);
        job = next;
    }
}

}  // namespace runtime::detail
