#pragma once
// Reporter: calls the hooks that only report (on_close, on_unpublish, on_stop, on_dvr, on_hls ...). Each host has
// several queues. Reports of one client to one host are in one queue, so that their order is kept. A failed call is
// retried after a pause. The queues are bounded; excess reports are dropped and counted. Nothing waits for the reports,
// except the end of the server for a limited time.

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
    std::string client_id;         // selects the queue; may be empty
    config::SnapshotPtr snapshot;  // keeps `hooks` alive
    const VhostConfig* hooks;
};

class Reporter {
  public:
    static constexpr size_t kQueues = 8;           // concurrent calls to one host
    static constexpr size_t kMaxWaiting = 10'000;  // reports queued for one host

    Reporter(Caller& caller, HookStats& stats) : caller_(caller), stats_(stats) {}
    ~Reporter() { stop(0); }

    // Never yields.
    void add(Report report);
    // Waits up to wait_ms for running and queued reports; the rest is dropped. Yields.
    void stop(int64_t wait_ms);

  private:
    struct Queue {
        std::deque<Report> waiting;
        runtime::Task task;
        bool failing = false;  // its last report was not delivered: the next ones get fewer attempts
    };
    void work(const std::string& name);
    bool deliver(Queue& queue, const Report& report);
    void drop(const Report& report);

    Caller& caller_;
    HookStats& stats_;
    std::map<std::string, Queue> queues_;    // by host and a hash of the client; only queues with work
    std::map<std::string, size_t> waiting_;  // by host
    runtime::Event empty_{"the last report"};
    int64_t drop_reported_ms_ = 0;
};

}  // namespace service::hook
