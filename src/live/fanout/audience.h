#pragma once
// Audience: the viewers of one LiveLog, to which SendScheduler sends: a cycle visits each of them once. There is a
// cycle per merge interval, in several rounds when they are many, or with every video frame when the interval is 0.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/close_reason.h"
#include "live/fanout/send_latency.h"
#include "live/fanout/send_scheduler.h"

namespace live {

class LiveLog;
class Stream;
class Viewer;

class Audience final : private SendGroup {
  public:
    explicit Audience(LiveLog& log);
    ~Audience();

    void add(Viewer& viewer);
    void remove(Viewer& viewer);  // after the last one the next round drops the log
    size_t size() const { return viewers_.size(); }
    // A packet was appended at that time. urgent: viewers that get every frame need not wait for the next packet.
    void on_append(bool urgent, int64_t now_us);
    // A viewer's thread has sent it the followed packet.
    void record_lent_latency(int64_t us) { latency_.add(us, 1); }
    // Viewers that wait for a start and now have one take it; the next round sends the bytes.
    void start_waiting();
    // The stream is over for each viewer. The next cycle ends them: an end costs a send and a close.
    void end_all();
    // Closes each viewer now.
    void abort_all(std::string_view why, base::CloseReason reason);
    // Viewers before this offset jump, and the log releases the bytes that no viewer needs then.
    void jump_before(uint64_t offset);
    // Releases what no viewer needs before the next cycle does: few viewers have mostly sent all when they join.
    void release_sent();
    // The log must keep the bytes from this offset on: a viewer has still to get them.
    void record_position(uint64_t offset);
    // The slowest viewer's next offset when all were visited the last time; UINT64_MAX: none is playing.
    uint64_t slowest_position() const { return slowest_position_; }

  private:
    // Up to this many viewers are visited in one round: more would take too long.
    static constexpr size_t kViewersPerRound = 1000;
    static constexpr size_t kMaxRounds = 10;
    static constexpr int64_t kIdleMs = 500;        // interval of checks of blocked viewers when no packets come
    static constexpr int64_t kUncollectedMs = 10;  // the same while a thread has not come to a viewer's write

    Begin begin_round(int64_t now_ms) override;
    bool send_batch(int64_t now_us) override;
    void end_round(int64_t now_ms) override;
    Stream& stream() const override;

    void begin_cycle(int64_t now_ms);
    void end_cycle(int64_t now_ms);
    // The index after the last viewer of this round. It is where the next one begins, however many viewers join or
    // leave: each cycle visits every viewer.
    size_t round_end() const { return viewers_.size() * (round_ + 1) / rounds_; }
    int64_t configured_interval_ms() const;  // a reload may change it
    // The stream's next time for a cycle after that one.
    int64_t cycle_after(int64_t ms) const;
    void visit(Viewer& viewer, uint64_t lag_limit, int64_t now_ms);
    void send_to(Viewer& viewer, int64_t now_ms);
    // A sender thread has its write, of now or of an earlier cycle.
    bool is_with_thread(Viewer& viewer);
    uint64_t lowest_needed() const;
    // Releases the bytes before the position, except those that new viewers need.
    void trim_from(uint64_t lowest_position);
    // The packet appended at that time is followed from here on.
    void begin_sample(int64_t now_us);
    // The followed packet was sent to this many viewers.
    void record_latency(size_t viewers, int64_t now_us);
    void end_sampled_round();

    LiveLog& log_;
    std::vector<Viewer*> viewers_;
    int64_t interval_ms_ = 0;  // of this cycle
    int64_t cycle_began_ms_ = 0;
    size_t next_ = 0;                        // the index of the viewer that is visited next
    uint64_t lowest_position_ = UINT64_MAX;  // of the viewers visited in this cycle
    uint64_t slowest_position_ = UINT64_MAX;
    // The followed packet: when it arrived, and how many rounds have still to send it.
    SendLatency& latency_;
    uint32_t until_sample_ = 1;  // packets; 0: one is followed
    uint32_t sampled_rounds_ = 0;
    uint32_t rounds_ = 1;  // of this cycle
    uint32_t round_ = 0;   // the next one
    uint32_t behind_ = 0;  // viewers of this batch that were not sent it: their sockets are full, or a thread sends it
    bool lends_ = false;   // the writes of this round go to sender threads
    bool has_uncollected_ = false;  // in this cycle a viewer's write was still a thread's
    uint64_t random_ = 1;
    int64_t sample_arrival_us_ = 0;
};

}  // namespace live
