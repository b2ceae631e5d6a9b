#pragma once
// Senders: threads to which the loop lends the expensive calls of sending. They own nothing: state, positions and
// decisions stay on the loop. Work has two forms:
//  - a record is what a datagram is written from, by value; its route knows how, and where it goes. Nothing comes back.
//    Memory that a record points to is kept by retire(), as is the route.
//  - a job is one write of a byte stream, by reference. The stream's owner collects the result when it next visits the
//    stream; settle() ends a job early: it is revoked, or awaited where a thread has begun it.
// Work of one thread is done in the order in which it was given. Nothing here yields. It knows neither RTP nor TLS.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/slice.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"
#include "runtime/senders/send_work.h"
#include "runtime/senders/sender_thread.h"

namespace runtime {

struct SenderStats {
    std::vector<SenderThreadStats> threads;
    uint64_t records = 0, jobs = 0;  // given to threads
    uint64_t revoked = 0;            // jobs that settle() took back
    uint64_t awaited = 0;            // jobs that settle() waited for
    int64_t awaited_us = 0, longest_wait_us = 0;
    uint64_t records_lost = 0, jobs_refused = 0;  // for which there was no room
    uint64_t retired = 0;                         // bytes that wait until no thread needs them
};

class Senders final : public DatagramSenders {
  public:
    static constexpr size_t kMaxThreads = 16;
    static constexpr size_t kMinSends = 8;
    enum class Mode : uint8_t { kThreads, kManual };  // kManual: for tests, see run()

    // threads: 1 to kMaxThreads. kSystem: no thread can be started.
    static base::Result<std::unique_ptr<Senders>> start(size_t threads, Mode mode = Mode::kThreads);
    // All work is done, and no job is lent. Yields.
    ~Senders();
    Senders(const Senders&) = delete;

    size_t threads() const { return threads_.size(); }
    // The thread for all work of a new session or stream. A few in succession have the same: they often send together,
    // and each thread that sleeps has to be woken.
    uint8_t assign_thread() { return static_cast<uint8_t>(assigned_++ / kMinSends % threads_.size()); }

    // ---- Whether to lend

    // Fewer sends in succession take less time than waking a thread, and are not lent; kMinSends at first.
    void set_min_sends(size_t count) { min_sends_ = count; }
    // Whether so many sends that follow one another are to be lent, with a loop that was busy so much of the last
    // second: four times min_sends in any case, min_sends from a quarter on, and fewer from half of it on: what other
    // rounds lend keeps the threads awake then. min_sends 0 and 1: always.
    static bool is_worth_lending(size_t sends, size_t min_sends, int64_t loop_busy_percent);
    bool takes_round(size_t sends) {
        return is_worth_lending(sends, min_sends_, sends < 4 * min_sends_ ? loop_busy_percent() : 0);
    }
    // Until the next call: the round of which records are part is to be lent.
    void lend_round(bool on) { lends_round_ = on; }
    // Whether the next record of that thread's session is to be lent. While the thread works it always is: what the
    // loop sent itself would overtake what was lent before.
    bool takes(uint32_t thread) const { return lends_round_ || !threads_[thread]->is_idle(); }
    // The thread has so much to do that more had better wait.
    bool is_crowded(uint32_t thread) const { return threads_[thread]->ring().used() > detail::SenderRing::kBytes / 2; }

    // ---- Records

    // Room for a record's bytes, aligned to 8, until commit(). Null: the thread is full, and the datagram is counted.
    void* reserve(uint32_t thread, size_t record_bytes);
    // record_bytes: at most those reserved. max_bytes: the room that the datagram needs, below 64 kB. flow: datagrams
    // of one address and flow keep their order, others may be joined (UdpArena).
    void commit(uint32_t thread, size_t record_bytes, const DatagramRoute& route, size_t max_bytes, uint32_t flow);
    // The same for a datagram that needs no writing.
    uint8_t* reserve_datagram(uint32_t thread, size_t max_bytes);
    void commit_datagram(uint32_t thread, size_t bytes, const DatagramTarget& target);
    // Kept until the threads have passed all records committed so far.
    void retire(base::Slice bytes);
    void retire(std::unique_ptr<DatagramRoute> route);

    // ---- Jobs

    // From the pool, for one write. Give it back by release() when it is not lent.
    SendJob& take_job();
    void release(SendJob& job);
    // False: the thread is full, and it was not lent.
    bool lend(uint32_t thread, SendJob& job);
    // True: it is done, `result` is valid, and it is no longer lent.
    static bool collect(SendJob& job);
    // Afterwards it is not lent. True: it is done as for collect(); false: it was revoked, and nothing was written.
    // Blocks while the thread is in the write.
    bool settle(SendJob& job);

    // ---- Both

    // What was given so far begins now; otherwise a coroutine publishes it in this iteration of the loop.
    void publish();
    // Waits, and blocks, until all work given so far is done.
    void drain() override;
    SenderStats stats() const;
    std::pair<uint64_t, uint64_t> datagrams() const override;

    // In Mode::kManual: does up to so many entries of the thread. Returns how many.
    size_t run(uint32_t thread, size_t entries = SIZE_MAX);
    // In Mode::kManual: begins the thread's next entry, a job, whose write ends in run() or when settle() waits for it.
    void begin_job(uint32_t thread);

  private:
    struct Retired {
        std::array<uint64_t, kMaxThreads> positions{};
        std::vector<base::Slice> slices;
        std::vector<std::unique_ptr<DatagramRoute>> routes;
    };

    explicit Senders(Mode mode);
    void wait_for(SendJob& job);
    bool can_reuse(const SendJob& job) const;
    uint8_t* reserve_entry(uint32_t thread, size_t bytes);
    void commit_entry(uint32_t thread, size_t bytes);
    bool has_passed_all() const;
    Retired& newest_retired();
    void free_retired();
    int64_t loop_busy_percent();
    void publish_soon() {
        if (!given_.is_set()) given_.set();
    }

    const Mode mode_;
    std::vector<std::unique_ptr<detail::SenderThread>> threads_;
    detail::SendNotices notices_;
    std::vector<std::unique_ptr<SendJob>> jobs_;  // all
    std::vector<SendJob*> idle_;
    std::deque<SendJob*> lingering_;  // released, but a ring or the list of notices still has them
    std::deque<Retired> retired_;
    uint64_t retired_bytes_ = 0;
    SenderStats counters_;
    std::array<uint64_t, kMaxThreads> awaited_{};  // by thread
    uint64_t assigned_ = 0;
    size_t min_sends_ = kMinSends;
    bool lends_round_ = false;
    // Of the loop's thread, in microseconds: when it was measured, its processor time then.
    int64_t measured_us_ = 0, loop_cpu_us_ = 0;
    int64_t loop_busy_percent_ = 0;
    Event given_{"work for sender threads"};
    Task publisher_;
};

namespace detail {
inline Senders* the_senders = nullptr;
}  // namespace detail

// The process's. Null: the loop makes all calls itself.
inline Senders* senders() { return detail::the_senders; }
// A route's owner: what its records need lives on, until no thread needs it.
struct RetireRoute {
    void operator()(DatagramRoute* route) const;
};
template <class Route>
using RoutePtr = std::unique_ptr<Route, RetireRoute>;

// While it lives, so many sends follow one another, by records.
class RecordRound {
  public:
    explicit RecordRound(size_t sends) {
        if (senders()) senders()->lend_round(senders()->takes_round(sends));
    }
    ~RecordRound() {
        if (senders()) senders()->lend_round(false);
    }
    RecordRound(const RecordRound&) = delete;
};
// There are none before. Must be stopped before the loop ends.
void install_senders(std::unique_ptr<Senders> senders);
// Nothing is given to them any more. Yields.
void stop_senders();
// How many threads the directive sender_threads means on so many processors. "auto": one for each processor but the
// loop's, and none on one or two processors, where the kernel and the other threads need the second one. Otherwise a
// number, at most kMaxThreads.
size_t sender_threads(std::string_view configured, size_t processors);

}  // namespace runtime
