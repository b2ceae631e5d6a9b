#pragma once
// Reporter: calls of hooks that only report (on_close, on_unpublish, on_stop, on_dvr, on_hls ...), one after the other
// in lanes: those of one client to one host keep their order. A call that fails is tried again after a while; who waits
// is bounded, and what is too much is dropped and counted. Nobody waits for it, but the server's end for a moment.

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "config/snapshot.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"
#include "service/hook/caller.h"

namespace service::hook {

struct Report {
    Call call;
    std::string client_id;         // lanes are by it; may be empty
    config::SnapshotPtr snapshot;  // of the next
    const config::VhostHttpHooks* hooks;
};

class Reporter {
  public:
    static constexpr size_t kLanes = 8;            // calls at once to one host
    static constexpr size_t kMaxWaiting = 10'000;  // reports for one host

    Reporter(Caller& caller, net::HookStats& stats) : caller_(caller), stats_(stats) {}
    ~Reporter() { stop(0); }

    // Never yields.
    void add(Report report);
    // Waits so long for those under way and in line; the rest is dropped. Yields.
    void stop(int64_t wait_ms);

  private:
    struct Lane {
        std::deque<Report> waiting;
        runtime::Task task;
        bool failing = false;  // its last report never arrived: others are not tried as often
    };
    void work(const std::string& place);
    bool deliver(Lane& lane, const Report& report);
    void drop(const Report& report);

    Caller& caller_;
    net::HookStats& stats_;
    std::map<std::string, Lane> lanes_;      // by host and a hash of the client; those that have work
    std::map<std::string, size_t> waiting_;  // by host
    runtime::Event empty_{"the last report"};
    int64_t dropped_note_ms_ = 0;
};

}  // namespace service::hook
