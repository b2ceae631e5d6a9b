#include "service/tools/tool.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>

#include "base/log.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/limited_log.h"

namespace service::tools {

using base::Error;
using runtime::Deadline;

namespace {

constexpr int64_t kStartMs = 30'000;

// What the server alone needs: its configuration, which may have secrets, and the sockets of its service manager.
const std::vector<std::string> kHiddenEnvironment = {"SRS_", "NOTIFY_SOCKET=", "WATCHDOG_", "LISTEN_"};

std::string text_of(const runtime::Process::Exit& exit) {
    if (exit.signal != 0) return fmt::format("it was ended by signal {}", exit.signal);
    return fmt::format("it ended with code {}", exit.code);
}

}  // namespace

std::string_view state_name(Tool::State state) {
    switch (state) {
        case Tool::State::kStarting:
            return "starting";
        case Tool::State::kRunning:
            return "running";
        case Tool::State::kWaiting:
            return "waiting";
        case Tool::State::kEnding:
            break;
    }
    return "ending";
}

bool Tool::start() {
    coroutine_ = runtime::spawn("tool", [this] { run(); });
    return static_cast<bool>(coroutine_);
}

void Tool::stop(std::string_view why) {
    if (ending_) return;
    ending_ = true;
    ending_since_ms_ = runtime::now_ms();
    base::log::trace("{}: it ends: {}", for_log(), why);
    if (process_) process_->send_signal(SIGTERM);
    stopped_.set();
}

void Tool::kill() {
    if (process_) process_->send_signal(SIGKILL);
}

int64_t Tool::ending_ms() const { return ending_ ? runtime::now_ms() - ending_since_ms_ : 0; }

int64_t Tool::running_ms() const { return process_ ? runtime::now_ms() - started_ms_ : 0; }

void Tool::update_cpu(pid_t pid, int64_t us) {
    if (process_ && process_->pid() == pid) cpu_us_ = us;
}

std::string Tool::for_log() const {
    std::string engines;
    for (const std::string& engine : job_.engines) engines += (engines.empty() ? ", " : "+") + engine;
    return fmt::format("{} {} of {}{}", kind_name(job_.kind), job_.name, job_.stream.text(), engines);
}

void Tool::run() {
    runtime::set_context_id(runtime::new_context_id());
    // Many that begin together do not hold up the loop, and a client that publishes again and again does not start a
    // process each time.
    (void)stopped_.wait(Deadline::in_ms(owner_.start_delay_ms()));
    while (!ending_ && !runtime::cancelled()) {
        run_once();
        if (ending_ || runtime::cancelled()) break;
        state_ = State::kWaiting;
        (void)stopped_.wait(Deadline::in_ms(kPauseMs));
    }
    process_.reset();
    owner_.tool_ended(*this);  // destroys this
}

void Tool::run_once() {
    state_ = State::kStarting;
    auto process = runtime::start_process({job_.arguments, job_.output_file, job_.error_file, kHiddenEnvironment},
                                          Deadline::in_ms(kStartMs));
    if (!process) return ending_ ? void() : on_start_failure(process.error());
    owner_.program_found(job_.arguments[0]);
    process_ = *std::move(process);
    started_ms_ = runtime::now_ms();
    state_ = State::kRunning;
    if (ending_) process_->send_signal(SIGTERM);
    // A tool that ends again and again is not logged again and again: the API has the count.
    if (starts_++ == 0) base::log::trace("{}: process {} runs", for_log(), process_->pid());
    const auto exit = process_->wait(Deadline::never());
    past_cpu_us_ += exit ? exit->cpu_us : cpu_us_;
    cpu_us_ = 0;
    process_.reset();
    if (exit && !ending_) on_exit(*exit);
}

void Tool::on_exit(const runtime::Process::Exit& exit) {
    const std::string text = text_of(exit);
    if (error_.update(text))
        runtime::warn_limited("{}: {}, it is started again every {} s{}{}", for_log(), text, kPauseMs / 1000,
                              job_.log_file.empty() ? "" : "; see ", job_.log_file);
}

void Tool::on_start_failure(const Error& error) {
    const std::string& program = job_.arguments[0];
    if (runtime::find_program(program).empty()) {
        owner_.program_missing(program);
        error_.update(fmt::format("{} does not exist or is not executable", program));
        return;
    }
    if (error_.update(error.text())) runtime::error_limited("{}: {}; it is tried again", for_log(), error.describe());
}

}  // namespace service::tools
