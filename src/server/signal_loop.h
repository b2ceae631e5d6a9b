#pragma once
// Waits for signals and does what they ask until one of them ends the server: HUP reloads, USR1 opens the log again,
// INT and TERM quit at once (TERM gently with force_grace_quit), QUIT gently: new clients are taken for
// grace_start_wait, then none; those there may stay up to grace_limit; grace_final_wait later it is over.

#include <functional>

#include "config/snapshot.h"
#include "net/operations.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/signals.h"
#include "server/lifecycle.h"

namespace server {

class SignalLoop {
  public:
    struct Hooks {
        std::function<config::SnapshotPtr()> snapshot;   // the one in force
        std::function<void()> reload;                    // yields; runs in a coroutine of its own
        std::function<base::Result<void>()> reopen_log;  // yields
    };

    // All outlive it.
    SignalLoop(runtime::Signals& signals, Lifecycle& lifecycle, net::Operations& operations, Hooks hooks);
    ~SignalLoop();

    // Yields until the server is to end. The modules still run (in a quick end) or are idle.
    void run();
    // The one that must be watched: watch_signals(SignalLoop::kWatched).
    static constexpr std::initializer_list<int> kWatched = {1 /*HUP*/, 2 /*INT*/, 3 /*QUIT*/, 10 /*USR1*/, 15 /*TERM*/};

  private:
    enum class Step : unsigned char { kGoOn, kGently, kAtOnce };
    Step handle(int signal);
    // A second one while one is under way is done after it; more than that would read the same file.
    void begin_reload();
    void reopen_log();
    void end_gently();
    // Waits, and does what signals ask meanwhile; false when one ends the server at once.
    bool wait_ms(int64_t ms);

    runtime::Signals& signals_;
    Lifecycle& lifecycle_;
    net::Operations& operations_;
    Hooks hooks_;
    runtime::Task reload_;
    bool reload_again_ = false;
    bool ending_ = false;
};

}  // namespace server
