#pragma once
// Reloader: reads the configuration again, checks it, asks every module, and puts it in force whole, or leaves the old
// one in force whole. Reading, parsing, comparing and opening files are a worker's, so the loop waits for none of them.
// What needs a restart keeps its old value and is named, in the log and in the report.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "config/snapshot.h"
#include "net/operations.h"
#include "runtime/loop/sync.h"
#include "server/config_source.h"
#include "server/lifecycle.h"

namespace server {

class Reloader {
  public:
    // All outlive it. read: what `snapshot` was made of.
    Reloader(ConfigSource source, Lifecycle& lifecycle, net::Operations& operations, config::SnapshotPtr snapshot,
             FileMarks read);
    Reloader(const Reloader&) = delete;

    // Yields. One after the other. An error: the caller was cancelled, or the server ends; nothing was changed.
    base::Result<net::ReloadReport> reload(std::string_view cause);
    // For log rotation. Yields. An error: the log goes on where it was.
    base::Result<void> reopen_log();
    // The server ends: no reload from now on.
    void close() { closed_ = true; }

    // Called after each reload, whatever came of it. It must not yield.
    void on_reloaded(std::function<void()> listener) { on_reloaded_ = std::move(listener); }
    const config::SnapshotPtr& snapshot() const { return snapshot_; }
    // The files that were read, or looked for, by the last reload or the start, as they were then.
    const FileMarks& read() const { return read_; }

  private:
    struct Job;
    class Turn;

    base::Result<void> take_turn();
    base::Result<void> run(net::ReloadReport& report);
    base::Result<void> refuse(net::ReloadReport& report, std::string why);
    base::Result<void> put_in_force(const std::shared_ptr<Job>& job, Lifecycle::Prepared prepared);

    ConfigSource source_;
    Lifecycle& lifecycle_;
    net::Operations& operations_;
    config::SnapshotPtr snapshot_;
    FileMarks read_;
    std::function<void()> on_reloaded_;
    bool busy_ = false;
    bool closed_ = false;
    runtime::Event free_{"a reload before it"};
};

}  // namespace server
