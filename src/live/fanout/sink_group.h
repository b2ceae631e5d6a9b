#pragma once
// SinkGroup: a SendGroup whose receivers are objects that are called once per round, in batches: the players of an
// RtpLane and of a MessageLane. A call may remove sinks, the called one and others; nobody is called twice in a round.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/prefetch.h"
#include "live/fanout/send_scheduler.h"
#include "runtime/senders/senders.h"

namespace live {

// What a sink of any group has. Must not yield.
class ReadySink {
  public:
    // Something new is there. True: more is left than it could take at once; it is called again with the next tick of
    // 5 ms.
    virtual bool on_packets(int64_t now_us) = 0;
    // base::prefetch() of the memory that on_packets() will need, at addresses that the object itself has. Called some
    // calls of other sinks before it.
    virtual void prefetch_needs() const = 0;

  protected:
    ~ReadySink() = default;

  private:
    template <class Sink>
    friend class SinkGroup;
    uint32_t index_ = UINT32_MAX;
};

// Sink: derives from ReadySink.
template <class Sink>
class SinkGroup : public SendGroup {
  public:
    size_t sinks() const { return sinks_.size(); }

  protected:
    explicit SinkGroup(SendScheduler& scheduler) : SendGroup(scheduler) {}
    ~SinkGroup() { CHECK(sinks_.empty()); }

    static bool is_in(const Sink& sink) { return index_of(sink) != UINT32_MAX; }
    void add(Sink& sink) {
        CHECK(!is_in(sink));
        index_of(sink) = static_cast<uint32_t>(sinks_.size());
        sinks_.push_back(&sink);
        enter();
    }
    void remove(Sink& sink) {
        Sink* last = sinks_.back();
        sinks_[index_of(sink)] = last;
        index_of(*last) = index_of(sink);
        sinks_.pop_back();
        index_of(sink) = UINT32_MAX;
        if (sinks_.empty()) leave();
    }
    template <class... Args>
    void notify_sinks(void (Sink::*what)(Args...), Args... args) {
        // Backwards: a sink that leaves is replaced by the last.
        for (size_t i = sinks_.size(); i-- > 0;)
            if (i < sinks_.size()) (sinks_[i]->*what)(args...);
    }

    Begin begin_round(int64_t now_ms) override {
        for (size_t i = 0; i < std::min(sinks_.size(), kAhead + 1); ++i)
            base::prefetch(sinks_[i], base::kCacheLineBytes);
        delay_rounds_until(now_ms + spacing_ms(sinks_.size()));
        next_ = 0;
        has_more_ = false;
        return Begin::kReady;
    }
    bool send_batch(int64_t now_us) override {
        const runtime::RecordRound round(sinks_.size());
        for (size_t called = 0; called < kBatch && next_ < sinks_.size(); ++called) {
            if (next_ + kAhead < sinks_.size()) sinks_[next_ + kAhead]->prefetch_needs();
            if (next_ + kAhead + 1 < sinks_.size()) base::prefetch(sinks_[next_ + kAhead + 1], base::kCacheLineBytes);
            Sink* sink = sinks_[next_];
            has_more_ |= sink->on_packets(now_us);
            // A sink that left was replaced by another.
            if (next_ < sinks_.size() && sinks_[next_] == sink) ++next_;
        }
        return next_ < sinks_.size();
    }
    void end_round(int64_t now_ms) override {
        if (has_more_) request_round(now_ms + 1);  // with the next tick
    }
    void prefetch() const override {
        for (size_t i = 0; i < std::min(sinks_.size(), kAhead); ++i) sinks_[i]->prefetch_needs();
    }

  private:
    // For how many sinks ahead memory is prefetched: a call takes about a microsecond, memory a tenth of it.
    static constexpr size_t kAhead = 2;

    static uint32_t& index_of(ReadySink& sink) { return sink.index_; }
    static uint32_t index_of(const ReadySink& sink) { return sink.index_; }

    std::vector<Sink*> sinks_;
    size_t next_ = 0;        // the index of the sink that is called next
    bool has_more_ = false;  // for a sink that was called in this round
};

}  // namespace live
