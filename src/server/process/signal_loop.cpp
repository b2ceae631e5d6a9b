#include "server/process/signal_loop.h"

#include <fmt/core.h>

#include <csignal>
#include <cstring>

#include "base/log.h"
#include "server/log_setup.h"

namespace server {

static_assert(SIGHUP == 1 && SIGINT == 2 && SIGQUIT == 3 && SIGUSR1 == 10 && SIGUSR2 == 12 && SIGTERM == 15);

SignalLoop::SignalLoop(runtime::Signals& signals, Lifecycle& lifecycle, net::Operations& operations, Hooks hooks)
    : signals_(signals), lifecycle_(lifecycle), operations_(operations), hooks_(std::move(hooks)) {}

SignalLoop::~SignalLoop() {
    if (reload_) reload_.cancel_and_join();
}

void SignalLoop::run() {
    constexpr int64_t kCheckMs = 500;
    while (true) {
        auto signal = signals_.next(upgrades_ ? runtime::Deadline::in_ms(kCheckMs) : runtime::Deadline::never());
        if (!signal && signal.error().code() == base::Code::kTimeout) {
            if (!hooks_.is_replaced()) continue;
            return base::log::trace("the last client has left: the server goes on in the process that has replaced it");
        }
        if (!signal) return base::log::error("waiting for signals: {}", signal.error().describe());
        switch (handle(*signal)) {
            case Step::kGoOn:
                break;
            case Step::kGently:
                return end_gently();
            case Step::kAtOnce:
                return;
        }
    }
}

SignalLoop::Step SignalLoop::handle(int signal) {
    record(signal);
    switch (signal) {
        case SIGHUP:
            begin_reload();
            return Step::kGoOn;
        case SIGUSR1:
            reopen_log();
            return Step::kGoOn;
        case SIGUSR2:
            if (ending_ || !hooks_.upgrade) return Step::kGoOn;
            hooks_.upgrade();
            upgrades_ = true;
            return Step::kGoOn;
        case SIGTERM:
        case SIGQUIT:
            if (signal == SIGQUIT || hooks_.snapshot()->global.force_grace_quit) {
                if (!ending_) base::log::trace("{}: the server ends gently", signal == SIGQUIT ? "SIGQUIT" : "SIGTERM");
                return Step::kGently;
            }
            break;
        default:
            break;
    }
    base::log::trace("{}: the server ends", signal == SIGINT ? "SIGINT" : "SIGTERM");
    if (hooks_.ending) hooks_.ending(0);
    return Step::kAtOnce;
}

void SignalLoop::record(int signal) const {
    if (!operations_.audit) return;
    const runtime::Signals::Sender sender = signals_.sender();
    operations_.audit({.action = "signal",
                       .user = fmt::format("uid {}, pid {}", sender.uid, sender.pid),
                       .what = fmt::format("SIG{}", sigabbrev_np(signal)),
                       .result = "accepted"});
}

void SignalLoop::begin_reload() {
    if (reload_ && !reload_.done()) {
        reload_again_ = true;
        return;
    }
    reload_ = runtime::spawn("reload", [this] {
        do {
            reload_again_ = false;
            hooks_.reload();
        } while (reload_again_ && !runtime::cancelled());
    });
}

void SignalLoop::reopen_log() {
    auto reopened = hooks_.reopen_log();
    if (!reopened)
        base::log::error("SIGUSR1: {}; logging continues to the old file, and {} lines were lost so far",
                         reopened.error().describe(), base::log::dropped_lines());
    if (reopened) base::log::trace("SIGUSR1: the log was opened again");
}

bool SignalLoop::wait_ms(int64_t ms) {
    runtime::Deadline deadline = runtime::Deadline::in_ms(ms);
    while (true) {
        auto signal = signals_.next(deadline);
        if (!signal) return signal.error().code() == base::Code::kTimeout;
        if (handle(*signal) == Step::kAtOnce) return false;
    }
}

void SignalLoop::end_gently() {
    constexpr int64_t kStepMs = 50;
    ending_ = true;
    operations_.draining = true;
    const config::Global global = hooks_.snapshot()->global;
    if (hooks_.ending) hooks_.ending(global.grace_start_wait + global.grace_limit + global.grace_final_wait);
    if (!wait_ms(hooks_.snapshot()->global.grace_start_wait)) return;
    lifecycle_.stop_accepting();
    base::log::trace("no new connections are accepted; busy: {}", lifecycle_.idle() ? "no service" : lifecycle_.busy());
    runtime::Deadline limit = runtime::Deadline::in_ms(hooks_.snapshot()->global.grace_limit);
    while (!lifecycle_.idle() && !limit.passed()) {
        if (!wait_ms(kStepMs)) return;
    }
    if (!lifecycle_.idle()) base::log::warn("grace_limit has passed; still busy: {}", lifecycle_.busy());
    if (wait_ms(hooks_.snapshot()->global.grace_final_wait)) base::log::trace("the graceful shutdown is complete");
}

}  // namespace server
