#pragma once
// Reloader: reads the configuration again, checks it, asks every module, and puts it in force completely or not at all.
// Files are read, parsed, compared and opened by a worker thread, so the loop waits for none of that. Directives that
// need a restart keep their old value and are listed in the log and in the report.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "config/snapshot.h"
#include "net/operations.h"
#include "runtime/loop/sync.h"
#include "server/lifecycle.h"
#include "server/reload/config_source.h"

namespace server {

class Reloader {
  public:
    // All of them must outlive it. read: the files that `snapshot` was made from.
    Reloader(ConfigSource source, Lifecycle& lifecycle, net::Operations& operations, config::SnapshotPtr snapshot,
             FileMarks read);
    Reloader(const Reloader&) = delete;

    // Yields. Reloads are done one at a time. An error: the caller was cancelled, or the server is ending; nothing was
    // changed.
    base::Result<net::ReloadReport> reload(std::string_view cause);
    // What a reload would do: reads and checks the configuration, asks every module, and takes nothing of it: no port
    // and no file is opened. Neither the log nor the counters of reloads have it. Yields and fails as reload().
    base::Result<net::ReloadReport> check();
    // Reopens the log file, for log rotation. Yields. An error: logging continues to the old file.
    base::Result<void> reopen_log();
    // The server is ending: no further reloads.
    void close() { closed_ = true; }

    // Called when a reload begins, and after it, whatever its result, also if it was cancelled. They must not yield.
    void on_reloading(std::function<void()> listener) { on_reloading_ = std::move(listener); }
    void on_reloaded(std::function<void()> listener) { on_reloaded_ = std::move(listener); }
    const config::SnapshotPtr& snapshot() const { return snapshot_; }
    // The files that were read, or not found, by the last reload or the start, with their state at that time.
    const FileMarks& read() const { return read_; }

  private:
    struct Job;
    class InProgress;

    base::Result<void> wait_for_others();
    base::Result<std::shared_ptr<Job>> read_files() const;
    base::Result<void> not_cancelled() const;
    base::Result<void> run(net::ReloadReport& report);
    void record(const net::ReloadReport& report) const;
    std::string errors_text(const config::Loaded& loaded) const;
    std::string refused_text() const;
    base::Result<void> refuse(net::ReloadReport& report, std::string why);
    base::Result<void> activate(const std::shared_ptr<Job>& job, Lifecycle::Prepared prepared);

    ConfigSource source_;
    Lifecycle& lifecycle_;
    net::Operations& operations_;
    config::SnapshotPtr snapshot_;
    FileMarks read_;
    std::function<void()> on_reloading_;
    std::function<void()> on_reloaded_;
    bool busy_ = false;
    bool closed_ = false;
    runtime::Event free_{"a reload before it"};
};

}  // namespace server
