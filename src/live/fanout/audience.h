#pragma once
// Audience: the viewers of one LiveLog and the pump that sends to them: one coroutine for all. It walks them once per
// merge interval, spread over phases when they are many, or with every video frame when the interval is 0, and lets
// others run at least every millisecond.

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

    void add(Viewer& viewer);     // starts the pump with the first
    void remove(Viewer& viewer);  // with the last the pump ends and drops the log
    size_t size() const { return viewers_.size(); }
    // A packet was appended. urgent: viewers who want every frame need not wait for the next one.
    void on_append(bool urgent);
    // Whoever waits for a place to begin, and has one by now, takes it; the bytes go out in their turn.
    void start_waiting();
    // Each viewer's stream is over. The pump tells them, as soon as it gets to it: an end costs a send and a close.
    void end_all();
    // Each is closed now.
    void abort_all(std::string_view why, base::CloseReason reason);
    // Who is before this offset jumps, and the log lets go of what nobody needs then.
    void jump_before(uint64_t offset);
    // The log must keep what a viewer at this offset has not got yet.
    void note_position(uint64_t offset);
    // What the slowest viewer had to get next when all were visited the last time; UINT64_MAX: nobody plays.
    uint64_t slowest_position() const { return slowest_position_; }

  private:
    // Everyone in one go up to so many: more would hold a phase too long.
    static constexpr size_t kViewersPerPhase = 1000;
    static constexpr size_t kMaxPhases = 10;
    static constexpr int64_t kTickMs = 20;       // with every frame: no walk sooner than this once there are
    static constexpr size_t kManyViewers = 200;  // this many
    static constexpr int64_t kIdleMs = 500;      // how often those who are stuck are looked at when nothing comes

    void pump(Stream& stream);
    void merge_cycle(int64_t interval_ms);
    void frame_cycle();
    // Visits those from begin up to end; returns where it came to.
    size_t walk(size_t begin, size_t end);
    void visit(Viewer& viewer, int64_t now_ms);
    // What no viewer needs any more, nor a new one.
    void trim_from(uint64_t lowest_position);
    // A packet is followed from here on.
    void begin_sample();
    // So many viewers were sent it.
    void note_latency(size_t viewers);
    void end_sampled_walk();

    LiveLog& log_;
    std::vector<Viewer*> viewers_;
    runtime::Task pump_;
    runtime::Event wake_{"its log to grow"};
    bool unsent_ = false;  // packets came since the last walk
    bool urgent_ = false;  // and one of them is not to wait
    bool ending_ = false;  // viewers are to end, and have not been visited since
    int64_t next_cycle_ms_ = 0;
    uint64_t lag_limit_ = 0;
    uint64_t lowest_position_ = UINT64_MAX;  // of those visited in this cycle
    uint64_t slowest_position_ = UINT64_MAX;
    // The packet that is followed: when it came, and how many walks have still to send it.
    SendLatency& latency_;
    uint32_t until_sample_ = 1;  // packets; 0: one is followed
    uint32_t sampled_walks_ = 0;
    uint32_t phases_ = 1;
    uint32_t behind_ = 0;  // viewers of this walk that were not sent it: their sockets are full
    uint64_t random_ = 1;
    int64_t sample_came_us_ = 0;
};

}  // namespace live
