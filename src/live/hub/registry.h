#pragma once
// Registry: the streams by name, weakly: a stream lives as long as its publisher or a viewer holds it.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/ref.h"
#include "live/hub/stream.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/log_limit.h"

namespace live {

// A publisher that begins to wait for a name, or takes it over (StandbyQueue).
struct StandbyChange {
    PublisherFacts publisher;
    int priority = 0;
    bool is_active = false;  // it has the name now; otherwise it waits
    StandbyReason reason = StandbyReason::kBusy;
    std::string other;  // the session that has the name, or had it before; empty: none
};

// A follower of published streams: recorders, segmenters. Must not yield. In stream_published the stream has no frame
// yet; a sink subscribed there gets every frame.
class StreamWatcher {
  public:
    virtual void stream_published(Stream& stream) = 0;
    // Its last frame is out. Another publisher may follow at once (takeover).
    virtual void stream_unpublished(Stream&) {}
    // A publisher begins to wait, or a waiting one has taken over. A waiting one that leaves is not reported.
    virtual void standby_changed(Stream&, const StandbyChange&) {}

  protected:
    ~StreamWatcher() = default;
};

struct StandbyCounters {
    uint64_t takeovers[kStandbyReasons] = {};  // by StandbyReason
    uint64_t refused = 0;                      // publishers, because too many wait
};

class Registry {
  public:
    Registry();
    ~Registry();  // stops: yields
    Registry(const Registry&) = delete;

    // Housekeeping: ends the viewers of streams whose publisher did not come back, and releases memory while all
    // streams together exceed the limit.
    void start();
    void stop();

    base::Ref<Stream> find(const StreamKey& key) const;  // may be null
    base::Ref<Stream> find_or_create(const StreamKey& key, const LiveOptions& options);
    size_t size() const { return streams_.size(); }
    // Something that the waits for many streams depend on has changed (Stream::await()).
    void wake_waiting() const {
        for (const auto& [key, stream] : streams_) stream->wake_waiting();
    }
    // A name of this process that no other process has. It identifies a stream that was forwarded back to its origin.
    const std::string& instance() const { return instance_; }
    void for_each(const std::function<void(Stream&)>& visit) const;
    const Delivery& delivery() const { return *delivery_; }

    // The memory limit of all streams together, bytes; 0: none.
    void set_memory_limit(size_t bytes) { memory_limit_ = bytes; }
    size_t memory_limit() const { return memory_limit_; }
    // What the server's other process has of it, during an upgrade.
    void set_memory_elsewhere(size_t bytes) { memory_elsewhere_ = bytes; }
    // The memory of all streams, as counted last, and of the holders.
    size_t memory() const;
    // The holder must live until remove_holder().
    void add_holder(MemoryHolder& holder);
    void remove_holder(MemoryHolder& holder);

    // Waiting publishers of all streams.
    static constexpr size_t kMaxStandbys = 1'000;
    size_t standbys() const { return standbys_; }
    const StandbyCounters& standby_counters() const { return standby_counters_; }

    // The watcher must live until unwatch().
    void watch(StreamWatcher& watcher);
    void unwatch(StreamWatcher& watcher);

  private:
    friend class Stream;
    void forget(const Stream& stream);
    void notify_published(Stream& stream) const;
    void notify_unpublished(Stream& stream) const;
    void notify_standby(Stream& stream, const StandbyChange& change) const;
    void run_housekeeping();
    // The next tenth of the streams.
    std::vector<base::Ref<Stream>> next_to_count();
    static bool is_orphan(const Stream& stream, int64_t now_ms);
    void end_orphans(const std::vector<base::Ref<Stream>>& orphans, int64_t now_ms);
    void enforce_memory_limit(bool recount);
    // 0: none.
    size_t own_memory_limit() const {
        if (memory_limit_ == 0) return 0;
        return std::max<size_t>(1, memory_limit_ - std::min(memory_limit_, memory_elsewhere_));
    }
    void end_largest(std::vector<base::Ref<Stream>>& streams, size_t excess);
    void update_memory(size_t before, size_t now) { memory_ = memory_ - before + now; }
    std::vector<base::Ref<Stream>> all() const;

    const base::Ref<Delivery> delivery_ = base::make_ref<Delivery>();
    std::map<StreamKey, Stream*> streams_;
    std::vector<Stream*> unsettled_;  // that asked for housekeeping; a settled one of thousands costs a cache miss
    StreamKey counted_;               // the last stream whose memory was counted
    std::map<StreamKey, runtime::LogCondition> ending_;  // streams whose viewers are being ended: for the log
    std::vector<StreamWatcher*> watchers_;
    std::vector<MemoryHolder*> holders_;
    size_t memory_ = 0;  // of the streams
    size_t memory_limit_ = 0;
    size_t memory_elsewhere_ = 0;
    bool memory_short_ = false;  // the limit was exceeded, and this was logged
    size_t standbys_ = 0;
    StandbyCounters standby_counters_;
    std::string instance_;
    runtime::Task housekeeper_;
};

}  // namespace live
