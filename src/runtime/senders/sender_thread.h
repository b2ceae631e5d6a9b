#pragma once
// Internal. One sender thread: its ring, what it does with each entry, and how it sleeps; and the notices that all of
// them give to the loop.

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "runtime/diagnose/watched_thread.h"
#include "runtime/loop/reactor.h"
#include "runtime/senders/send_work.h"
#include "runtime/senders/sender_ring.h"
#include "runtime/socket/udp_arena.h"

namespace runtime {

struct SenderThreadStats {
    int64_t busy_us = 0;    // processor time
    uint64_t sent = 0;      // datagrams
    uint64_t lost = 0;      // datagrams that the kernel did not take
    uint64_t entries = 0;   // records and jobs
    int64_t waited_us = 0;  // for room in a socket
    uint64_t awaited = 0;   // jobs for whose end the loop waited
    ThreadStalls stalls;    // calls that took stall_warn or longer
};

namespace detail {

enum class EntryKind : uint16_t { kRecord, kDatagram, kJob };

// In a ring, before a record's bytes. There are many: with those of an RTP packet it fills a cache line.
struct RecordHead {
    EntryKind kind;
    uint16_t max_bytes;
    uint32_t flow;
    const DatagramRoute* route;
};
static_assert(sizeof(RecordHead) == 16);
// Before the bytes of a datagram that is complete.
struct DatagramHead {
    EntryKind kind;
    uint16_t bytes;
    DatagramTarget target;
};
struct JobEntry {
    EntryKind kind;
    SendJob* job;
};

// Notices of finished jobs: from the threads to the loop.
class SendNotices final : public ParkedHandler {
  public:
    base::Result<void> open();
    void push(SendJob& job);  // on a thread
    void on_readable() override;
    void on_writable() override {}
    void on_hangup() override {}
    void close() { watch_.close(); }

  private:
    std::atomic<SendJob*> first_ = nullptr;
    Watch watch_;
    int fd_ = -1;
};

// A counter that its thread writes and the loop reads.
class Counter {
  public:
    void add(uint64_t n) { value_.store(get() + n, std::memory_order_relaxed); }
    uint64_t get() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<uint64_t> value_ = 0;
};

class SenderThread final : private UdpOutput, private DatagramSink, public WatchedThread {
  public:
    SenderThread(SendNotices& notices, size_t number)
        : WatchedThread(fmt::format("sender thread {}", number)), notices_(notices) {}
    ~SenderThread() { stop(); }

    base::Result<void> start();
    void stop();

    SenderRing& ring() { return ring_; }
    // All that was published is done: the thread sleeps.
    bool is_idle() { return ring_.has_passed(ring_.position()) && asleep_.load(std::memory_order_acquire) == 1; }
    void count_unpublished() {
        if (++unpublished_ >= kPublishEvery) publish();
    }
    void publish();
    // Without a thread (Senders::Mode::kManual): does up to so many entries. Returns how many.
    size_t run_manually(size_t entries);
    void begin_job();
    void end_job();
    SenderThreadStats stats() const;

    // For the watchdog.
    bool works() const override { return asleep_.load(std::memory_order_relaxed) == 0; }
    uint64_t finished() const override { return ring_.passed(); }

  private:
    static constexpr size_t kPublishEvery = 16;  // entries

    static void* body(void* self);
    size_t run(size_t entries);
    void run_job(std::span<uint8_t> entry);
    void sleep();
    void run_record(std::span<uint8_t> entry);
    void run_datagram(std::span<uint8_t> entry);
    uint8_t* reserve(const DatagramTarget& target, size_t max_bytes);
    void commit(size_t bytes, const DatagramTarget& target, uint32_t flow);
    void use_socket(const DatagramTarget& target);
    void flush();
    bool begin(SendJob& job);
    void end(SendJob& job);

    void send(std::span<const uint8_t> bytes, const DatagramTarget& target) override;
    int send_messages(std::span<mmsghdr> messages) override;
    void count_sent(size_t sent, size_t lost) override;
    const base::IpAddress* source(uint16_t number) const override;

    SenderRing ring_;
    SendNotices& notices_;
    size_t unpublished_ = 0;
    std::atomic<uint32_t> asleep_ = 1;
    std::atomic<bool> stopping_ = false;
    std::optional<pthread_t> thread_;
    SendJob* begun_ = nullptr;  // by begin_job()

    // The thread's.
    std::unique_ptr<UdpArena> arena_;  // from the first record on
    int fd_ = -1;
    bool v6_ = false;                       // of fd_
    std::vector<base::IpAddress> sources_;  // of fd_, by number
    Counter sent_, lost_, entries_, waited_us_;
};

}  // namespace detail
}  // namespace runtime
