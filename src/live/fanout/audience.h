#pragma once
// Audience: the viewers of one LiveLog and the pump that sends to them: one coroutine for all. The pump visits all
// viewers once per merge interval, in several phases when they are many, or with every video frame when the interval is
// 0. It yields after 500 us. A pass begins with a read of the publisher. Few viewers are visited by the
// coroutine that has read, and the pump sleeps on.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/close_reason.h"
#include "live/fanout/send_latency.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"

namespace live {

class LiveLog;
class Stream;
class Viewer;

class Audience {
  public:
    explicit Audience(LiveLog& log);
    ~Audience();
    Audience(const Audience&) = delete;

    void add(Viewer& viewer);     // the first starts the pump
    void remove(Viewer& viewer);  // with the last the pump ends and drops the log
    size_t size() const { return viewers_.size(); }
    // A packet was appended at that time. urgent: viewers that get every frame need not wait for the next packet.
    void on_append(bool urgent, int64_t now_us);
    // The publisher was read, and the packets from that are appended. Makes the pass that was left to the reader.
    void on_publisher_read();
    // The clock: a pass is due.
    void on_due();
    // Viewers that wait for a start and now have one take it; the pump sends the bytes later.
    void start_waiting();
    // The stream is over for each viewer. The pump ends them on its next pass: an end costs a send and a close.
    void end_all();
    // Closes each viewer now.
    void abort_all(std::string_view why, base::CloseReason reason);
    // Viewers before this offset jump, and the log releases the bytes that no viewer needs then.
    void jump_before(uint64_t offset);
    // Releases what no viewer needs before the next pass does: few viewers have mostly sent all when they join.
    void release_sent();
    // The log must keep the bytes from this offset on: a viewer has still to get them.
    void note_position(uint64_t offset);
    // The slowest viewer's next offset when all were visited the last time; UINT64_MAX: none is playing.
    uint64_t slowest_position() const { return slowest_position_; }

  private:
    friend class PassClock;
    // Up to this many viewers are visited in one phase: more would take too long.
    static constexpr size_t kViewersPerPhase = 1000;
    static constexpr size_t kMaxPhases = 10;
    static constexpr int64_t kTickMs = 20;       // with every frame: minimum time between passes when there are
    static constexpr size_t kManyViewers = 200;  // at least this many viewers
    static constexpr int64_t kClockMs = 50;      // passes at this interval and longer ones go by the clock
    static constexpr int64_t kReadLimitMs = 5;   // the longest that a pass waits for the publisher to be read
    static constexpr int64_t kIdleMs = 500;      // interval of checks of blocked viewers when no packets come

    void pump(Stream& stream);
    void merge_cycle(int64_t now_ms);
    void frame_cycle();
    int64_t configured_interval_ms() const;  // a reload may change it
    // The stream's next time for a pass after that one.
    int64_t cycle_after(int64_t begin_ms) const;
    // Waits for the time of a pass that the pump has to make, or for the last viewer's or the stream's end.
    void await_pass(int64_t at_ms);
    bool may_leave_to_reader() const;
    // Of few viewers, without yielding.
    void pass();
    // All viewers were visited.
    void end_cycle();
    // Lets the publisher be read right before a pass: its bytes would wait for the next one otherwise.
    void read_publisher();
    // Visits the viewers from begin up to end; returns the index after the last one visited.
    size_t visit_range(size_t begin, size_t end, int64_t now_us);
    void visit(Viewer& viewer, int64_t now_ms);
    uint64_t lowest_needed() const;
    // Releases the bytes before the position, except those that new viewers need.
    void trim_from(uint64_t lowest_position);
    // The packet appended at that time is followed from here on.
    void begin_sample(int64_t now_us);
    // The followed packet was sent to this many viewers.
    void note_latency(size_t viewers, int64_t now_us);
    void end_sampled_pass();

    LiveLog& log_;
    std::vector<Viewer*> viewers_;
    runtime::Task pump_;
    runtime::Event wake_{"its log to grow"};
    bool unsent_ = false;      // packets were appended since the last pass
    bool urgent_ = false;      // one of them must not wait
    bool reading_ = false;     // the pump waits until the publisher was read
    bool ending_ = false;      // viewers are to end, and have not been visited since
    bool left_ = false;        // a pass is left to the reader
    bool due_ = false;         // a pass is due that the pump has to make
    int64_t due_tick_ = 0;     // of the clock; 0: it does not wait for the clock
    int64_t interval_ms_ = 0;  // of this cycle
    int64_t next_cycle_ms_ = 0;
    uint64_t lag_limit_ = 0;
    uint64_t lowest_position_ = UINT64_MAX;  // of the viewers visited in this cycle
    uint64_t slowest_position_ = UINT64_MAX;
    // The followed packet: when it arrived, and how many passes have still to send it.
    SendLatency& latency_;
    uint32_t until_sample_ = 1;  // packets; 0: one is followed
    uint32_t sampled_passes_ = 0;
    uint32_t phases_ = 1;
    uint32_t behind_ = 0;  // viewers of this pass that were not sent it: their sockets are full
    uint64_t random_ = 1;
    int64_t sample_came_us_ = 0;
};

}  // namespace live
