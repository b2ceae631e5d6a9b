#pragma once
// Reporter: calls hooks that only report (on_close, on_unpublish, on_stop, on_dvr, on_hls ...) sequentially in lanes:
// reports of one client to one host keep their order. A failed call is retried after a while. The queue is bounded;
// excess reports are dropped and counted. Nothing waits for it, except the server's end for a moment.

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "config/snapshot.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"
#include "service/hook/caller.h"
#include "service/hook/config.h"

namespace service::hook {

struct Report {
    Call call;
    std::string client_id;         // selects the lane; may be empty
    config::SnapshotPtr snapshot;  // keeps `hooks` alive
    const VhostConfig* hooks;
};

class Reporter {
  public:
    static constexpr size_t kLanes = 8;            // concurrent calls to one host
    static constexpr size_t kMaxWaiting = 10'000;  // reports queued for one host

    Reporter(Caller& caller, HookStats& stats) : caller_(caller), stats_(stats) {}
    ~Reporter() { stop(0); }

    // Never yields.
    void add(Report report);
    // Waits up to wait_ms for running and queued reports; the rest is dropped. Yields.
    void stop(int64_t wait_ms);

  private:
    struct Lane {
        std::deque<Report> waiting;
        runtime::Task task;
        bool failing = false;  // its last report was not delivered: the next ones get fewer attempts
    };
    void work(const std::string& place);
    bool deliver(Lane& lane, const Report& report);
    void drop(const Report& report);

    Caller& caller_;
    HookStats& stats_;
    std::map<std::string, Lane> lanes_;      // by host and a hash of the client; only lanes with work
    std::map<std::string, size_t> waiting_;  // by host
    runtime::Event empty_{"the last report"};
    int64_t dropped_note_ms_ = 0;
};

}  // namespace service::hook
