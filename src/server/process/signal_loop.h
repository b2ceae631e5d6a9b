#pragma once
// Waits for signals and handles them until one of them ends the server: HUP reloads, USR1 reopens the log, USR2 has a
// new process of the program replace this one (server/upgrade), after which the last client's end ends it, too. INT and
// TERM quit at once (TERM gracefully with force_grace_quit). QUIT quits gracefully: new clients are accepted for
// grace_start_wait, then refused; existing clients may stay up to grace_limit; the server ends grace_final_wait later.

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
        std::function<void()> reload;                    // yields; runs in its own coroutine
        std::function<base::Result<void>()> reopen_log;  // yields
        std::function<void(int64_t)> ending{};           // the server ends within that many ms at most; 0: now
        std::function<void()> upgrade{};
        std::function<bool()> is_replaced{};  // by another process, and without clients
    };

    // All of them must outlive it.
    SignalLoop(runtime::Signals& signals, Lifecycle& lifecycle, net::Operations& operations, Hooks hooks);
    ~SignalLoop();  // yields

    // Yields until the server is to end. The modules are still running (immediate exit) or idle.
    void run();
    // The signals to be watched: watch_signals(SignalLoop::kWatched).
    static constexpr std::initializer_list<int> kWatched = {1 /*HUP*/,   2 /*INT*/,   3 /*QUIT*/,
                                                            10 /*USR1*/, 12 /*USR2*/, 15 /*TERM*/};

  private:
    enum class Step : unsigned char { kGoOn, kGently, kAtOnce };
    Step handle(int signal);
    void record(int signal) const;  // for the audit file
    // A reload requested during another one is done after it; further requests are merged, as they would read the same
    // file.
    void begin_reload();
    void reopen_log();
    void end_gently();
    // Waits and handles signals meanwhile; false: a signal ends the server at once.
    bool wait_ms(int64_t ms);

    runtime::Signals& signals_;
    Lifecycle& lifecycle_;
    net::Operations& operations_;
    Hooks hooks_;
    runtime::Task reload_;
    bool reload_again_ = false;
    bool ending_ = false;
    bool upgrades_ = false;  // an upgrade was asked for: it is checked whether it has ended this process
};

}  // namespace server
