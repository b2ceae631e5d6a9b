#include "runtime/senders/senders.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "base/clock.h"
#include "runtime/threads/futex.h"

namespace runtime {

namespace {

constexpr size_t kRetireEvery = 64;  // slices, or routes
constexpr int64_t kSpinUs = 20;      // in settle(), before the loop sleeps
constexpr int64_t kMeasureUs = 1'000'000;
constexpr int64_t kBusyPercent = 25, kVeryBusyPercent = 50;

int64_t thread_cpu_us() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * 1'000'000 + used.tv_nsec / 1000;
}

}  // namespace

Senders::Senders(Mode mode) : mode_(mode) {}

base::Result<std::unique_ptr<Senders>> Senders::start(size_t threads, Mode mode) {
    CHECK(threads >= 1 && threads <= kMaxThreads);
    std::unique_ptr<Senders> senders(new Senders(mode));
    TRY(senders->notices_.open());
    for (size_t i = 0; i < threads; ++i)
        senders->threads_.push_back(std::make_unique<detail::SenderThread>(senders->notices_, i));
    if (mode == Mode::kManual) return senders;
    senders->publisher_ = spawn("publish-sends", [at = senders.get()] {
        while (at->given_.wait(Deadline::never())) {
            at->given_.reset();
            at->publish();
        }
    });
    if (!senders->publisher_) return base::fail(base::Code::kSystem, "no coroutine for sender threads");
    // Signals are to be delivered to the loop's thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    base::Result<void> started;
    for (auto& thread : senders->threads_)
        if (started) started = thread->start();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!started) return std::unexpected(std::move(started.error()));
    return senders;
}

Senders::~Senders() {
    if (publisher_) publisher_.cancel_and_join();
    for (auto& thread : threads_) {
        thread->stop();
        if (mode_ == Mode::kManual) (void)thread->run_manually(SIZE_MAX);
    }
    notices_.close();
}

bool Senders::is_worth_lending(size_t sends, size_t min_sends, int64_t loop_busy_percent) {
    if (sends == 0) return false;
    if (min_sends <= 1 || sends >= 4 * min_sends) return true;
    return loop_busy_percent >= (sends >= min_sends ? kBusyPercent : kVeryBusyPercent);
}

// In the last second.
int64_t Senders::loop_busy_percent() {
    const int64_t now_us = base::monotonic_us(), passed_us = now_us - measured_us_;
    if (passed_us < kMeasureUs) return loop_busy_percent_;
    const int64_t cpu_us = thread_cpu_us();
    loop_busy_percent_ = measured_us_ > 0 ? (cpu_us - loop_cpu_us_) * 100 / passed_us : 0;
    measured_us_ = now_us;
    loop_cpu_us_ = cpu_us;
    return loop_busy_percent_;
}

uint8_t* Senders::reserve_entry(uint32_t thread, size_t bytes) {
    uint8_t* entry = threads_[thread]->ring().reserve(bytes);
    if (entry) [[likely]]
        return entry;
    ++counters_.records_lost;
    threads_[thread]->publish();
    return nullptr;
}

void Senders::commit_entry(uint32_t thread, size_t bytes) {
    threads_[thread]->ring().commit(bytes);
    ++counters_.records;
    threads_[thread]->count_unpublished();
    publish_soon();
}

void* Senders::reserve(uint32_t thread, size_t record_bytes) {
    uint8_t* entry = reserve_entry(thread, sizeof(detail::RecordHead) + record_bytes);
    return entry ? entry + sizeof(detail::RecordHead) : nullptr;
}

void Senders::commit(uint32_t thread, size_t record_bytes, const DatagramRoute& route, size_t max_bytes,
                     uint32_t flow) {
    new (threads_[thread]->ring().reserved())
        detail::RecordHead{detail::EntryKind::kRecord, static_cast<uint16_t>(max_bytes), flow, &route};
    commit_entry(thread, sizeof(detail::RecordHead) + record_bytes);
}

uint8_t* Senders::reserve_datagram(uint32_t thread, size_t max_bytes) {
    CHECK(max_bytes <= UINT16_MAX);
    uint8_t* entry = reserve_entry(thread, sizeof(detail::DatagramHead) + max_bytes);
    return entry ? entry + sizeof(detail::DatagramHead) : nullptr;
}

void Senders::commit_datagram(uint32_t thread, size_t bytes, const DatagramTarget& target) {
    new (threads_[thread]->ring().reserved())
        detail::DatagramHead{detail::EntryKind::kDatagram, static_cast<uint16_t>(bytes), target};
    commit_entry(thread, sizeof(detail::DatagramHead) + bytes);
}

bool Senders::has_passed_all() const {
    return std::ranges::all_of(threads_,
                               [](const auto& thread) { return thread->ring().has_passed(thread->ring().position()); });
}

// What was committed so far may need what is added to it.
Senders::Retired& Senders::newest_retired() {
    if (retired_.empty() || retired_.back().slices.size() + retired_.back().routes.size() >= kRetireEvery)
        retired_.emplace_back();
    Retired& newest = retired_.back();
    for (size_t i = 0; i < threads_.size(); ++i) newest.positions[i] = threads_[i]->ring().position();
    return newest;
}

void Senders::retire(base::Slice bytes) {
    if (has_passed_all()) return;
    retired_bytes_ += bytes.size();
    newest_retired().slices.push_back(std::move(bytes));
}

void Senders::retire(std::unique_ptr<DatagramRoute> route) {
    if (!has_passed_all()) newest_retired().routes.push_back(std::move(route));
}

void RetireRoute::operator()(DatagramRoute* route) const {
    std::unique_ptr<DatagramRoute> owned(route);
    if (Senders* threads = senders()) threads->retire(std::move(owned));
}

void Senders::free_retired() {
    while (!retired_.empty()) {
        Retired& first = retired_.front();
        for (size_t i = 0; i < threads_.size(); ++i)
            if (!threads_[i]->ring().has_passed(first.positions[i])) return;
        for (const base::Slice& slice : first.slices) retired_bytes_ -= slice.size();
        retired_.pop_front();
    }
}

bool Senders::can_reuse(const SendJob& job) const {
    return (!job.noticed_ || job.taken_) && threads_[job.thread_]->ring().has_passed(job.position_);
}

SendJob& Senders::take_job() {
    for (size_t looked = std::min<size_t>(lingering_.size(), 4); looked > 0 && idle_.empty(); --looked) {
        SendJob* job = lingering_.front();
        lingering_.pop_front();
        if (can_reuse(*job))
            idle_.push_back(job);
        else
            lingering_.push_back(job);
    }
    if (idle_.empty()) return *jobs_.emplace_back(std::make_unique<SendJob>());
    SendJob& job = *idle_.back();
    idle_.pop_back();
    return job;
}

void Senders::release(SendJob& job) {
    job.user = nullptr;
    job.notice = job.wants_time = false;
    if (job.position_ == 0 || can_reuse(job))
        idle_.push_back(&job);
    else
        lingering_.push_back(&job);
}

bool Senders::lend(uint32_t thread, SendJob& job) {
    detail::SenderRing& ring = threads_[thread]->ring();
    uint8_t* room = ring.reserve(sizeof(detail::JobEntry));
    if (!room) {
        ++counters_.jobs_refused;
        threads_[thread]->publish();
        return false;
    }
    job.noticed_ = job.taken_ = false;
    job.thread_ = thread;
    job.state_.store(SendJob::State::kQueued, std::memory_order_relaxed);  // publish() releases it
    new (room) detail::JobEntry{detail::EntryKind::kJob, &job};
    job.position_ = ring.commit(sizeof(detail::JobEntry));
    ++counters_.jobs;
    threads_[thread]->count_unpublished();
    publish_soon();
    return true;
}

bool Senders::collect(SendJob& job) {
    if (job.state_.load(std::memory_order_acquire) != SendJob::State::kDone) return false;
    job.state_.store(SendJob::State::kIdle, std::memory_order_relaxed);
    return true;
}

bool Senders::settle(SendJob& job) {
    auto expected = SendJob::State::kQueued;
    if (job.state_.compare_exchange_strong(expected, SendJob::State::kRevoked, std::memory_order_acq_rel)) {
        ++counters_.revoked;
        return false;
    }
    CHECK(expected == SendJob::State::kRunning || expected == SendJob::State::kDone);
    if (expected == SendJob::State::kRunning) wait_for(job);
    return collect(job);
}

void Senders::wait_for(SendJob& job) {
    if (mode_ == Mode::kManual) return threads_[job.thread_]->end_job();
    const int64_t began_us = base::monotonic_us();
    const auto is_done = [&] { return job.state_.load(std::memory_order_acquire) == SendJob::State::kDone; };
    while (!is_done() && base::monotonic_us() - began_us < kSpinUs) continue;
    auto expected = SendJob::State::kRunning;
    if (job.state_.compare_exchange_strong(expected, SendJob::State::kAwaited, std::memory_order_acq_rel))
        while (!is_done()) detail::futex_wait(job.state_, SendJob::State::kAwaited);
    const int64_t waited_us = base::monotonic_us() - began_us;
    ++counters_.awaited;
    ++awaited_[job.thread_];
    counters_.awaited_us += waited_us;
    counters_.longest_wait_us = std::max(counters_.longest_wait_us, waited_us);
}

void Senders::publish() {
    for (auto& thread : threads_) thread->publish();
    free_retired();
}

void Senders::drain() {
    publish();
    for (size_t i = 0; i < threads_.size(); ++i) {
        if (mode_ == Mode::kManual) {
            (void)run(static_cast<uint32_t>(i));
            continue;
        }
        while (!threads_[i]->is_idle()) {
            const timespec pause{.tv_sec = 0, .tv_nsec = 100'000};
            nanosleep(&pause, nullptr);
        }
    }
    free_retired();
}

SenderStats Senders::stats() const {
    SenderStats all = counters_;
    all.retired = retired_bytes_;
    for (size_t i = 0; i < threads_.size(); ++i) {
        all.threads.push_back(threads_[i]->stats());
        all.threads.back().awaited = awaited_[i];
    }
    return all;
}

std::pair<uint64_t, uint64_t> Senders::datagrams() const {
    uint64_t sent = 0, lost = counters_.records_lost;
    for (const auto& thread : threads_) {
        const SenderThreadStats one = thread->stats();
        sent += one.sent;
        lost += one.lost;
    }
    return {sent, lost};
}

size_t Senders::run(uint32_t thread, size_t entries) {
    const size_t done = threads_[thread]->run_manually(entries);
    free_retired();
    return done;
}

void Senders::begin_job(uint32_t thread) {
    threads_[thread]->publish();
    threads_[thread]->begin_job();
}

void install_senders(std::unique_ptr<Senders> senders) {
    CHECK(!detail::the_senders);
    detail::the_senders = senders.release();
    detail::datagram_senders = detail::the_senders;
}

void stop_senders() {
    if (!detail::the_senders) return;
    const std::unique_ptr<Senders> stopped(std::exchange(detail::the_senders, nullptr));
    detail::datagram_senders = nullptr;
    stopped->drain();
}

size_t sender_threads(std::string_view configured, size_t processors) {
    if (configured == "auto") return processors <= 2 ? 0 : std::min(processors, Senders::kMaxThreads) - 1;
    size_t threads = 0;
    std::from_chars(configured.data(), configured.data() + configured.size(), threads);
    return std::min(threads, Senders::kMaxThreads);
}

}  // namespace runtime
