#pragma once
// RtpTurn: calls the sinks of lanes that have few of them, for all streams of a Registry. One coroutine serves them
// all: packets of dozens of streams arrive at once, two or three of each, and a coroutine for each lane would cost more
// than the calls. While one sink encrypts its packets, the memory that the next ones need is prefetched.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/flat_queue.h"
#include "runtime/loop/sync.h"

namespace live {

class Fanout;
class RtpLane;

class RtpTurn {
  public:
    explicit RtpTurn(Fanout& fanout) : fanout_(fanout) {}
    RtpTurn(const RtpTurn&) = delete;

    // A lane has its first sink.
    void enter() { ++lanes_; }
    // A lane has lost its last sink.
    void leave(RtpLane& lane);
    // Has the lane's sinks called soon.
    void add(RtpLane& lane);

  private:
    struct Paced {
        RtpLane* lane;  // null: it has no sink any more
        int64_t due_us;
    };
    // In the order of adding, which for all is that of their times.
    void add_paced(RtpLane& lane, int64_t now_us);
    void take_due_paced();
    void take_turn();
    void look_ahead(size_t i) const;
    void run();

    Fanout& fanout_;
    std::vector<RtpLane*> ready_;
    std::vector<RtpLane*> taken_;  // the lanes of this turn; null: it has no sink any more
    base::FlatQueue<Paced> paced_;
    size_t lanes_ = 0;
    bool running_ = false;
    runtime::Event wake_{"RTP packets of lanes with few sinks"};
};

}  // namespace live
