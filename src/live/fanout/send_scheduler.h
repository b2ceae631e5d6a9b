#pragma once
// SendScheduler: one coroutine that sends to the viewers of all logs and calls the sinks of all RTP lanes of a
// Registry, however many they are. Each log and each lane is a SendGroup. A group has a round when it is due: the
// publisher is read first if it is read at intervals, then the group's receivers are sent to in batches. Groups whose
// rounds overlap share the time in slices.

#include <cstddef>
#include <cstdint>

#include "base/flat_queue.h"
#include "runtime/loop/sync.h"
#include "runtime/loop/timers.h"

namespace live {

class Delivery;
class SendScheduler;
class Stream;

class SendGroup : private runtime::Timer {
  public:
    SendGroup(const SendGroup&) = delete;

    // A round begins at that time, or sooner if that was requested.
    void request_round(int64_t at_ms);

  protected:
    explicit SendGroup(SendScheduler& scheduler) : scheduler_(scheduler) {}
    ~SendGroup();

    // The group enters with its first receiver and leaves with the last one: the scheduler's coroutine runs meanwhile.
    void enter();
    void leave();
    // Rounds on request begin this long after one another at least, so that the effort for many receivers is bounded:
    // 0.1 ms for each, and at most 20 ms. What arrives meanwhile is sent together.
    static int64_t spacing_ms(size_t receivers);
    void delay_rounds_until(int64_t ms) { not_before_ms_ = ms; }

    // None of these yields.
    enum class Begin : uint8_t { kReads, kReady, kGone };
    // kReads: its publisher was woken to read, and runs before the first batch. kGone: the group was destroyed.
    virtual Begin begin_round(int64_t now_ms) = 0;
    // Sends to the next receivers, kBatch at most. False: they were the last ones of the round.
    virtual bool send_batch(int64_t now_us) = 0;
    virtual void end_round(int64_t now_ms) = 0;
    virtual Stream& stream() const = 0;
    // base::prefetch() of what the first receivers need, shortly before their batch.
    virtual void prefetch() const {}
    static constexpr size_t kBatch = 16;

  private:
    friend class SendScheduler;
    enum class State : uint8_t { kIdle, kReady, kSending };

    void on_due() override;

    SendScheduler& scheduler_;
    int64_t not_before_ms_ = 0;
    int64_t requested_ms_ = INT64_MAX;  // while a round goes on: when the next one is wanted
    State state_ = State::kIdle;
    bool entered_ = false;
};

class SendScheduler {
  public:
    explicit SendScheduler(Delivery& delivery) : delivery_(delivery) {}
    SendScheduler(const SendScheduler&) = delete;

  private:
    friend class SendGroup;
    // So many rounds begin at once, with the reads of their publishers.
    static constexpr size_t kRoundsAtOnce = 16;
    static constexpr int64_t kRetryMs = 100;  // without memory for a coroutine

    void add(SendGroup& group);
    void remove(SendGroup& group);
    void begin_rounds();
    void send();
    bool send_batch(int64_t now_us);
    void end_round(SendGroup& group, int64_t now_ms);
    void run();

    Delivery& delivery_;
    // Null: it was removed.
    base::FlatQueue<SendGroup*> ready_;    // whose rounds are due
    base::FlatQueue<SendGroup*> sending_;  // whose rounds have begun
    size_t groups_ = 0;                    // that have receivers
    bool running_ = false;
    runtime::Event wake_{"something to send"};
};

}  // namespace live
