#pragma once
// Run: what the commands share: stopping on a signal, a ramp of connections, progress, the server's figures before and
// after.

#include <functional>
#include <memory>
#include <vector>

#include "load/commands.h"
#include "load/connection.h"
#include "load/ledger.h"
#include "load/probe.h"
#include "load/report.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/signals.h"
#include "runtime/loop/sync.h"

namespace load {

class Run {
  public:
    explicit Run(const CommonOptions& options) : options_(options), probe_(options.server_pid) {}
    ~Run();

    // Checks the server's process, notes its memory, starts to watch signals and to show progress.
    base::Result<void> begin();
    Ledger& ledger() { return ledger_; }
    const Probe& probe() const { return probe_; }
    bool stopped() const { return stop_.is_set(); }
    // Yields; false when the run was stopped meanwhile.
    bool sleep(int64_t ms) { return sleep_until(runtime::Deadline::in_ms(ms)); }
    bool sleep_until(runtime::Deadline deadline) { return !stop_.wait(deadline).has_value() && !stopped(); }

    // Opens the connections by the ramp, a coroutine each, and waits until every one is open or has failed.
    // opened is called in its coroutine after each success.
    void open_all(const std::vector<Connection*>& connections, std::function<void(Connection&)> opened = {});
    // The same of anything: open is called for each number, in a coroutine.
    void open_each(uint32_t count, std::function<void(uint32_t, runtime::Deadline)> open);

    // Between these two the server's CPU time and the bytes are counted.
    void begin_window();
    void end_window();
    double window_seconds() const { return static_cast<double>(window_end_us_ - window_start_us_) / 1e6; }
    uint64_t window_bytes() const { return window_bytes_end_ - window_bytes_start_; }
    double window_mbit() const { return static_cast<double>(window_bytes()) * 8 / 1e6; }

    // Rows about the window and the server. per: "player", "publisher"; empty: nobody is left to share it among.
    void add_window(Report& report, const std::string& per);
    // Delivers the report; the exit code.
    int finish(const Report& report);

  private:
    void watch_for_signals();
    void show_progress();

    const CommonOptions& options_;
    Probe probe_;
    Ledger ledger_;
    runtime::Event stop_;
    std::unique_ptr<runtime::Signals> signals_;
    std::vector<runtime::Task> tasks_;
    int64_t begun_us_ = 0;
    int64_t pss_before_kb_ = 0, pss_after_kb_ = 0, anonymous_before_kb_ = 0, anonymous_kb_ = 0;
    int64_t descriptors_before_ = 0;
    int64_t cpu_start_us_ = 0, cpu_end_us_ = 0;
    int64_t main_thread_start_us_ = 0, main_thread_end_us_ = 0;
    int64_t own_cpu_start_us_ = 0, own_cpu_end_us_ = 0;
    int64_t window_start_us_ = 0, window_end_us_ = 0;
    uint64_t window_bytes_start_ = 0, window_bytes_end_ = 0;
    uint32_t window_open_ = 0;
};

// Prints why the command could not begin; returns 2.
int cannot_begin(const base::Error& error);

}  // namespace load
