#pragma once
// Publisher: a connection that sends a script in real time, and the Pacer, one coroutine that sends for all publishers
// what is due. One write per message, as encoders do it.

#include <queue>
#include <vector>

#include "base/clock.h"
#include "load/connection.h"
#include "load/pacing.h"
#include "load/rtp_script.h"
#include "load/script.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"

namespace load {

class Publisher;

class PublisherObserver {
  public:
    // Just before the message of that index is written.
    virtual void on_publisher_send(uint32_t index, int64_t now_us) = 0;

  protected:
    ~PublisherObserver() = default;
};

class Publisher final : public Connection {
  public:
    // The script is shared and outlives it.
    Publisher(Target target, Script& script, bool loop, Ledger& ledger, PublisherObserver* observer = nullptr);

    // Before open(), for rtsp://: the same script as RTP; it outlives the publisher.
    void send_rtp(RtpScript& rtp) { rtp_ = &rtp; }
    // Sends what is due. Returns when the next message is, or -1 when it has ended.
    int64_t send_due(int64_t now_us);
    // Sends the first messages at once: for those who do not care for real time. Returns how many were sent.
    uint32_t send_now(uint32_t count);

  private:
    base::Result<void> prepare(DialogOptions& options, runtime::Deadline) override {
        if (rtp_) options.description = rtp_->description();
        return {};
    }
    void on_opened() override {
        start_us_ = base::monotonic_us();
        start_wall_us_ = base::wall_ms() * 1000;
    }
    int64_t due_us() const;
    void send_next(int64_t now_us);

    Script& script_;
    RtpScript* rtp_ = nullptr;  // null: RTMP chunks are sent
    bool loop_;
    PublisherObserver* observer_;
    LoopPosition position_;
    int64_t start_us_ = 0;
    int64_t start_wall_us_ = 0;
};

class Pacer {
  public:
    // The publisher is open and outlives the pacer, or is closed.
    void add(Publisher& publisher);
    // A coroutine's body: runs until stop() or cancellation.
    void run();
    void stop();

  private:
    // Messages sent between two looks at the event loop.
    static constexpr int kBurst = 64;
    struct Due {
        int64_t at_us;
        Publisher* publisher;
        bool operator<(const Due& other) const { return at_us > other.at_us; }
    };
    std::priority_queue<Due> queue_;
    runtime::Event changed_;
    bool stopped_ = false;
};

}  // namespace load
