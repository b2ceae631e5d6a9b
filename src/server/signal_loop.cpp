#include "server/signal_loop.h"

#include <csignal>

#include "base/log.h"
#include "server/log_setup.h"

namespace server {

static_assert(SIGHUP == 1 && SIGINT == 2 && SIGQUIT == 3 && SIGUSR1 == 10 && SIGTERM == 15);

SignalLoop::SignalLoop(runtime::Signals& signals, Lifecycle& lifecycle, config::SnapshotPtr snapshot, ReloadHook reload)
    : signals_(signals), lifecycle_(lifecycle), snapshot_(std::move(snapshot)), reload_(std::move(reload)) {}

void SignalLoop::run() {
    while (true) {
        auto signal = signals_.next(runtime::Deadline::never());
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
    switch (signal) {
        case SIGHUP:
            reload();
            return Step::kGoOn;
        case SIGUSR1: {
            auto reopened = base::log::reopen();
            if (!reopened) base::log::error("SIGUSR1: opening the log again: {}", reopened.error().describe());
            if (reopened) base::log::trace("SIGUSR1: the log was opened again");
            return Step::kGoOn;
        }
        case SIGTERM:
        case SIGQUIT:
            if (signal == SIGQUIT || snapshot_->global.force_grace_quit) {
                if (!ending_) base::log::trace("{}: the server ends gently", signal == SIGQUIT ? "SIGQUIT" : "SIGTERM");
                return Step::kGently;
            }
            break;
        default:
            break;
    }
    base::log::trace("{}: the server ends", signal == SIGINT ? "SIGINT" : "SIGTERM");
    return Step::kAtOnce;
}

void SignalLoop::reload() {
    base::log::trace("SIGHUP: the configuration is read again");
    config::SnapshotPtr next = reload_(*snapshot_);
    if (!next) return;
    if (!same_log(*snapshot_, *next)) {
        auto opened = open_log(*next);
        if (!opened) base::log::error("reload: {}", opened.error().describe());
    }
    snapshot_ = std::move(next);
    lifecycle_.reload(snapshot_);
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
    if (!wait_ms(snapshot_->global.grace_start_wait)) return;
    lifecycle_.stop_accepting();
    base::log::trace("no new connections are taken; busy: {}", lifecycle_.idle() ? "nobody" : lifecycle_.busy());
    runtime::Deadline limit = runtime::Deadline::in_ms(snapshot_->global.grace_limit);
    while (!lifecycle_.idle() && !limit.passed()) {
        if (!wait_ms(kStepMs)) return;
    }
    if (!lifecycle_.idle()) base::log::warn("grace_limit has passed; still busy: {}", lifecycle_.busy());
    if (wait_ms(snapshot_->global.grace_final_wait)) base::log::trace("the gentle end is over");
}

}  // namespace server
