#pragma once
// What the loop lends to sender threads (senders.h): a write of a byte stream, or a datagram.

#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/socket/byte_stream.h"
#include "runtime/socket/lent_datagrams.h"

namespace runtime {

class SendJob;
class Senders;
namespace detail {
class SenderThread;
class SendNotices;
}  // namespace detail

// The owner of a job.
class SendJobUser {
  public:
    // On the loop, soon after a write that was short or failed, or whose notice was requested; the job is done and can
    // be collected. Not after it was collected. Must not yield.
    virtual void on_send_done(SendJob& job) = 0;

  protected:
    ~SendJobUser() = default;
};

// Lives in the pool of its Senders.
class SendJob {
  public:
    static constexpr size_t kMaxParts = 16;

    // Set before it is lent.
    ByteStream::LentWrite write;
    SendJobUser* user = nullptr;
    void* owner = nullptr;  // for the user
    std::array<iovec, kMaxParts> parts{};
    uint32_t part_count = 0;
    bool notice = false;      // on_send_done() in any case
    bool wants_time = false;  // done_us is set
    int64_t since_us = 0;     // for the user: what done_us is compared with
    // When it is done.
    ByteStream::WriteResult result;
    int64_t done_us = 0;  // base::monotonic_us()

  private:
    friend class Senders;
    friend class detail::SenderThread;
    friend class detail::SendNotices;
    enum class State : uint32_t { kIdle, kQueued, kRunning, kAwaited, kDone, kRevoked };

    std::atomic<State> state_ = State::kIdle;
    bool noticed_ = false;  // the thread has put it into the list of notices
    bool taken_ = false;    // the loop has taken it from there
    uint32_t thread_ = 0;
    uint64_t position_ = 0;  // in the thread's ring
    SendJob* next_notice_ = nullptr;
};

// What many records have in common: where their datagrams go, and how they are written. It does not change: for another
// destination there is another route. Held by RoutePtr (senders.h), as threads may use it longer than its owner.
class DatagramRoute {
  public:
    explicit DatagramRoute(const DatagramTarget& target) : target_(target) {}
    virtual ~DatagramRoute() = default;
    DatagramRoute(const DatagramRoute&) = delete;

    const DatagramTarget& target() const { return target_; }
    // On a thread: writes the datagram of a record, and returns its size, at most the max_bytes that were committed
    // with it; 0: none is sent.
    virtual size_t write(const void* record, uint8_t* out) const = 0;

  private:
    const DatagramTarget target_;
};

}  // namespace runtime
