#pragma once
// Outbox: the reports to HTTP servers (on_close, on_unpublish, on_stop, on_dvr, on_hls ...). A report waits here until
// its host has answered it, so that what ends while the host is away is told later, in order (report_order.h), at least
// once. Reports of vhosts with `outbox on` are in a file, too (outbox_file.h), and outlive a crash.
//
// Each host has so many calls under way as outbox_concurrency says. A host that fails several times in a row is tried
// by one call at a time, with growing pauses, and nothing is dropped meanwhile but for its age. A report that alone has
// no valid answer, or none at all, while the host answers others, is dropped after `retries` or a few more.
//
// What waits is bounded by bytes, for each vhost and host and in all. Nothing waits for the reports, except the end of
// the server for a limited time. What a reload changes counts for reports that wait, too: while the URL of one is not
// configured, it goes to the URL that has the position of its own.

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "config/snapshot.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/log_limit.h"
#include "runtime/loop/sync.h"
#include "service/hook/breaker.h"
#include "service/hook/caller.h"
#include "service/hook/config.h"
#include "service/hook/outbox_file.h"
#include "service/hook/report_order.h"
#include "service/hook/stats.h"

namespace service::hook {

// What is to be told.
struct NewReport {
    Hook hook;
    std::string vhost;
    std::string body;         // JSON object; empty: GET
    std::string client_id{};  // may be empty
    std::string stream{};     // "app/name" of the stream in whose order it stands; empty: none
};

class Outbox {
  public:
    static constexpr size_t kReportBytes = 512;             // counted for each report beside its texts
    static constexpr size_t kMaxBytes = 512 * 1024 * 1024;  // of all reports
    static constexpr int64_t kNotifyMaxAgeMs = 60'000;      // of on_hls_notify: a cache is filled now or never
    static constexpr size_t kMaxBatchBytes = 512 * 1024;

    // The report's id is server_id-run-number. All must outlive it.
    Outbox(Caller& caller, HookStats& stats, OutboxFile& file, std::string server_id);
    ~Outbox();  // stops: yields

    // None of these yields. The configuration counts from now on, for what waits, too.
    void reload(const config::SnapshotPtr& snapshot);
    // To each URL of its hook.
    void add(const NewReport& report);
    // An on_hls_notify: `url` is the pattern at `index`, with its variables replaced.
    void add_notify(const std::string& vhost, size_t index, std::string url, const std::string& client_id);
    // Reports of an earlier run.
    void restore(std::vector<SavedReport> saved);

    // Waits up to wait_ms while reports are delivered, not for hosts that are down; what is not on disk is dropped
    // then. Yields.
    void stop(int64_t wait_ms);

    struct HostView {
        std::string name;  // "http://host:port"
        bool is_down = false;
        int64_t since_ms = 0;  // how long it has been so; 0: always
        std::string last_error;
        size_t waiting = 0;    // reports, with those under way
        size_t in_flight = 0;  // calls
        size_t bytes = 0;
        int64_t oldest_ms = 0;  // age of its oldest report
        uint64_t delivered = 0, dropped = 0;
    };
    std::vector<HostView> hosts() const;
    size_t waiting() const { return reports_.size(); }
    size_t bytes() const { return bytes_; }

  private:
    struct Host;
    struct Share;
    struct Route;
    struct Report;
    using Batch = std::vector<Report*>;
    using RouteName = std::tuple<std::string, Hook, std::string>;  // vhost, hook, the URL that it was made for

    const VhostConfig* hooks_of(const std::string& vhost) const;
    // Null: the hook has no URL now.
    Route* route_of(const SavedReport& report);
    void resolve(Route& route);
    void put(const SavedReport& saved, int64_t age_ms, bool is_on_disk);
    void enter(Report& report);
    void rebuild();
    void start_workers(Host& host);
    void work(Host& host);
    Batch take(Host& host);
    void take_more(Host& host, Batch& batch);
    Delivery send(const Batch& batch);
    void settle(Host& host, const Batch& batch, const Delivery& delivery);
    void record_outcome(Host& host, const Delivery& delivery);
    void retry(Host& host, Report& report, const Delivery& delivery);
    // The report is delivered or dropped; it is destroyed.
    void finish(Report& report);
    void drop(Report& report, Drop why);
    void record_drop(Hook hook, Drop why);
    int64_t oldest_ms(const Host& host) const;  // when its oldest report was made
    void forget_gone(Host& host);
    void drop_expired();
    bool may_progress() const;
    int64_t next_event_ms() const;
    void watch();

    Caller& caller_;
    HookStats& stats_;
    OutboxFile& file_;
    const std::string server_id_;
    std::shared_ptr<const std::string> run_;
    config::SnapshotPtr snapshot_;
    uint64_t last_key_ = 0;
    size_t bytes_ = 0;
    bool stopping_ = false;
    std::map<std::string, Host> hosts_;
    std::map<RouteName, Route> routes_;
    std::map<uint64_t, Report> reports_;
    runtime::Event changed_{"reports to hooks"};
    runtime::Event empty_{"the last report"};
    runtime::Task watcher_;  // while reports wait
    std::list<runtime::Task> workers_;
    runtime::LogLimit drop_log_{3, 10'000};
    runtime::LogLimit host_log_;
};

}  // namespace service::hook
