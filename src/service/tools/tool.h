#pragma once
// Tool: the process of a job. A coroutine keeps it running: whatever the reason of its end, it is started again after
// kPauseMs. To end, it gets SIGTERM, and after kTermMs SIGKILL by its owner.

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/current_error.h"
#include "runtime/loop/sync.h"
#include "runtime/threads/process.h"
#include "service/tools/plan.h"

namespace service::tools {

class Tool;

class ToolOwner {
  public:
    // How long to wait before the first start: starts are kStartIntervalMs apart, whoever causes them. ms.
    virtual int64_t start_delay_ms() = 0;
    // Its program is not there, for the first time or again; or it is there again. Logs that once for all tools.
    virtual void program_missing(const std::string& program) = 0;
    virtual void program_found(const std::string& program) = 0;
    // It is over; the last call of its coroutine. The owner destroys it.
    virtual void tool_ended(Tool& tool) = 0;

  protected:
    ~ToolOwner() = default;
};

class Tool {
  public:
    enum class State : uint8_t { kStarting, kRunning, kWaiting, kEnding };
    static constexpr int64_t kPauseMs = 3'000, kTermMs = 5'000, kStartIntervalMs = 20;

    // The owner must outlive it.
    Tool(ToolOwner& owner, Job job) : owner_(owner), job_(std::move(job)) {}
    Tool(const Tool&) = delete;

    // False: no coroutine was available.
    bool start();
    // tool_ended() follows soon.
    void stop(std::string_view why);
    // Ends the process by SIGKILL.
    void kill();
    runtime::Task coroutine() const { return coroutine_; }

    const Job& job() const { return job_; }
    State state() const { return ending_ ? State::kEnding : state_; }
    bool ending() const { return ending_; }
    int64_t ending_ms() const;                                    // how long it has been ending
    pid_t pid() const { return process_ ? process_->pid() : 0; }  // 0: it does not run
    uint64_t starts() const { return starts_; }
    uint64_t restarts() const { return starts_ > 0 ? starts_ - 1 : 0; }
    int64_t running_ms() const;  // since the last start; 0: it does not run
    // Why it last ended, or was not started; empty: neither happened.
    const std::string& problem() const { return error_.text(); }
    // Processor time of all its processes: of those that ended exactly, of the one that runs as measured last. us.
    int64_t cpu_us() const { return past_cpu_us_ + cpu_us_; }
    void update_cpu(pid_t pid, int64_t us);

  private:
    void run();
    void run_once();
    void on_exit(const runtime::Process::Exit& exit);
    void on_start_failure(const base::Error& error);
    std::string for_log() const;

    ToolOwner& owner_;
    const Job job_;
    State state_ = State::kStarting;
    bool ending_ = false;
    int64_t ending_since_ms_ = 0;
    int64_t started_ms_ = 0;
    uint64_t starts_ = 0;
    int64_t cpu_us_ = 0, past_cpu_us_ = 0;
    runtime::CurrentError error_;
    std::unique_ptr<runtime::Process> process_;
    runtime::Event stopped_{"the pause before an external tool is started again"};
    runtime::Task coroutine_;
};

std::string_view state_name(Tool::State state);

}  // namespace service::tools
