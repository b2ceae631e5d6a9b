#pragma once
// Waits for signals and does what they ask until one of them ends the server: HUP reloads, USR1 opens the log again,
// INT and TERM quit at once (TERM gently with force_grace_quit), QUIT gently: new clients are taken for
// grace_start_wait, then none; those there may stay up to grace_limit; grace_final_wait later it is over.

#include <functional>

#include "config/snapshot.h"
#include "runtime/signals.h"
#include "server/lifecycle.h"

namespace server {

class SignalLoop {
  public:
    // Returns the snapshot to put in force, or null.
    using ReloadHook = std::function<config::SnapshotPtr(const config::Snapshot& current)>;

    // All outlive it.
    SignalLoop(runtime::Signals& signals, Lifecycle& lifecycle, config::SnapshotPtr snapshot, ReloadHook reload);

    // Yields until the server is to end. The modules still run (in a quick end) or are idle.
    void run();
    // The one that must be watched: watch_signals(SignalLoop::kWatched).
    static constexpr std::initializer_list<int> kWatched = {1 /*HUP*/, 2 /*INT*/, 3 /*QUIT*/, 10 /*USR1*/, 15 /*TERM*/};

  private:
    enum class Step : unsigned char { kGoOn, kGently, kAtOnce };
    Step handle(int signal);
    void reload();
    void end_gently();
    // Waits, and does what signals ask meanwhile; false when one ends the server at once.
    bool wait_ms(int64_t ms);

    runtime::Signals& signals_;
    Lifecycle& lifecycle_;
    config::SnapshotPtr snapshot_;
    ReloadHook reload_;
    bool ending_ = false;
};

}  // namespace server
