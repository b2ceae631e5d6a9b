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

// Whoever makes something of streams that are published: recorders, segmenters. Must not yield. In stream_published the
// stream has no frame yet; a sink subscribed there gets every one.
class StreamWatcher {
  public:
    virtual void stream_published(Stream& stream) = 0;
    // Its last frame is out. Another publisher may follow at once (takeover).
    virtual void stream_unpublished(Stream&) {}

  protected:
    ~StreamWatcher() = default;
};

class Registry {
  public:
    Registry();
    ~Registry();
    Registry(const Registry&) = delete;

    // The housekeeping: ends the viewers of streams whose publisher did not come back, and makes room where all streams
    // together hold more memory than they may.
    void start();
    void stop();

    base::Ref<Stream> find(const StreamKey& key) const;  // may be null
    base::Ref<Stream> find_or_create(const StreamKey& key, const LiveOptions& options);
    size_t size() const { return streams_.size(); }
    // A name of this process that no other one has, by which a stream that comes back to where it was is known.
    const std::string& instance() const { return instance_; }
    void for_each(const std::function<void(Stream&)>& visit) const;
    const Fanout& fanout() const { return *fanout_; }

    // What all streams may hold together, bytes; 0: any amount.
    void set_memory_limit(size_t bytes) { memory_limit_ = bytes; }
    size_t memory_limit() const { return memory_limit_; }
    // What they hold, as it was counted last, and what outlives them.
    size_t memory() const;
    // The holder outlives its being known.
    void add_holder(MemoryHolder& holder) { holders_.push_back(&holder); }
    void remove_holder(MemoryHolder& holder) { std::erase(holders_, &holder); }

    // The watcher outlives its watching.
    void watch(StreamWatcher& watcher) { watchers_.push_back(&watcher); }
    void unwatch(StreamWatcher& watcher) { std::erase(watchers_, &watcher); }

  private:
    friend class Stream;
    void forget(const Stream& stream);
    void tell_published(Stream& stream) const;
    void tell_unpublished(Stream& stream) const;
    void run_housekeeping();
    void end_orphans(int64_t now_ms);
    void look_after_memory(bool recount);
    void note_memory(size_t before, size_t now) { memory_ = memory_ - before + now; }
    std::vector<base::Ref<Stream>> all() const;

    const base::Ref<Fanout> fanout_ = base::make_ref<Fanout>();
    std::map<StreamKey, Stream*> streams_;
    std::map<StreamKey, runtime::LogCondition> ending_;  // whose viewers are being ended: for the log
    std::vector<StreamWatcher*> watchers_;
    std::vector<MemoryHolder*> holders_;
    size_t memory_ = 0;  // of the streams
    size_t memory_limit_ = 0;
    bool memory_short_ = false;  // and the log has a line of it
    std::string instance_;
    runtime::Task housekeeper_;
};

}  // namespace live
