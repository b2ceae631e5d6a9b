#include "server/process/signal_loop.h"

#include <gtest/gtest.h>

#include <csignal>

#include "base/clock.h"
#include "config/load.h"
#include "runtime/loop/testing.h"

namespace server {
namespace {

// Signals at given times, in ms from the first call.
class Script : public runtime::Signals {
  public:
    struct Event {
        int64_t at_ms;
        int signal;
    };
    explicit Script(std::vector<Event> events) : events_(std::move(events)), start_ms_(base::monotonic_ms()) {}

    base::Result<int> next(runtime::Deadline deadline) override {
        if (events_.empty()) {
            if (deadline.is_never()) return base::fail(base::Code::kClosed, "the script is over");
            TRY(runtime::sleep_until(deadline));
            return base::fail(base::Code::kTimeout, "no signal");
        }
        runtime::Deadline at = runtime::Deadline::at_us((start_ms_ + events_[0].at_ms) * 1000);
        bool first = at.at_us() <= deadline.at_us();
        TRY(runtime::sleep_until(first ? at : deadline));
        if (!first) return base::fail(base::Code::kTimeout, "no signal");
        int signal = events_[0].signal;
        events_.erase(events_.begin());
        return signal;
    }

  private:
    std::vector<Event> events_;
    int64_t start_ms_;
};

class SignalLoopTest : public runtime::testing::RuntimeTest {
  protected:
    // Returns how long it ran, ms. busy_ms: how long a client stays.
    int64_t run(std::vector<Script::Event> events, const std::string& top, int64_t busy_ms = 0) {
        config::LoadInput input;
        input.path = "a";
        input.read = [&](const std::string&) -> base::Result<std::string> { return "listen 1; vhost a { }" + top; };
        config::SnapshotPtr snapshot = config::load(input).snapshot;
        CHECK(snapshot != nullptr);
        Lifecycle lifecycle;
        int64_t start = base::monotonic_ms();
        Module module;
        module.name = "m";
        module.start = [] { return base::Result<void>(); };
        module.stop_accepting = [&] { stopped_accepting_ms_ = base::monotonic_ms() - start; };
        module.idle = [&, start] { return base::monotonic_ms() - start >= busy_ms; };
        module.stop = [] {};
        lifecycle.add(std::move(module));
        CHECK(lifecycle.start().has_value());
        Script script(std::move(events));
        SignalLoop loop(script, lifecycle, operations_,
                        {.snapshot = [&] { return snapshot; },
                         .reload =
                             [&] {
                                 ++reloads_;
                                 static_cast<void>(runtime::sleep_ms(reload_ms_));
                             },
                         .reopen_log = [&]() -> base::Result<void> {
                             ++reopened_;
                             return base::fail(base::Code::kSystem, "no such directory");
                         }});
        loop.run();
        return base::monotonic_ms() - start;
    }

    int64_t stopped_accepting_ms_ = -1;
    net::Operations operations_;
    int reloads_ = 0;
    int64_t reload_ms_ = 0;
    int reopened_ = 0;
};

TEST_F(SignalLoopTest, IntAndTermEndAtOnce) {
    EXPECT_LT(run({{10, SIGINT}}, "", 60'000), 500);
    EXPECT_LT(run({{10, SIGTERM}}, "", 60'000), 500);
    EXPECT_EQ(stopped_accepting_ms_, -1);
}

TEST_F(SignalLoopTest, QuitWaitsForClients) {
    int64_t ms = run({{0, SIGQUIT}}, "grace_start_wait 100; grace_final_wait 100;", 300);
    EXPECT_GE(stopped_accepting_ms_, 100);
    EXPECT_LT(stopped_accepting_ms_, 300);
    EXPECT_GE(ms, 400);
}

TEST_F(SignalLoopTest, QuitHasALimit) {
    int64_t ms = run({{0, SIGQUIT}}, "grace_start_wait 0; grace_final_wait 0; grace_limit 200;", 60'000);
    EXPECT_GE(ms, 200);
    EXPECT_LT(ms, 5'000);
}

TEST_F(SignalLoopTest, IntCutsAGentleEndShort) {
    EXPECT_LT(run({{0, SIGQUIT}, {50, SIGQUIT}, {100, SIGINT}}, "grace_start_wait 60000;"), 5'000);
    EXPECT_LT(run({{0, SIGQUIT}, {100, SIGTERM}}, "grace_start_wait 0;", 60'000), 5'000);
    EXPECT_LT(run({{0, SIGQUIT}, {100, SIGINT}}, "grace_start_wait 0; grace_final_wait 60000;"), 5'000);
}

TEST_F(SignalLoopTest, TermIsGentleWhenAskedFor) {
    int64_t ms = run({{0, SIGTERM}}, "force_grace_quit on; grace_start_wait 100; grace_final_wait 100;");
    EXPECT_GE(ms, 200);
    EXPECT_GE(stopped_accepting_ms_, 100);
}

TEST_F(SignalLoopTest, AReloadHoldsNothingUp) {
    reload_ms_ = 60'000;
    EXPECT_LT(run({{0, SIGHUP}, {50, SIGTERM}}, ""), 5'000);
    EXPECT_EQ(reloads_, 1);
}

TEST_F(SignalLoopTest, HupsWhileOneIsUnderWayAreOneMore) {
    reload_ms_ = 100;
    run({{0, SIGHUP}, {20, SIGHUP}, {40, SIGHUP}, {400, SIGINT}}, "");
    EXPECT_EQ(reloads_, 2);
    run({{0, SIGHUP}, {200, SIGHUP}, {400, SIGINT}}, "");
    EXPECT_EQ(reloads_, 4);
}

TEST_F(SignalLoopTest, Usr1OpensTheLogAgainAndAFailureEndsNothing) {
    run({{0, SIGUSR1}, {20, SIGUSR1}, {40, SIGINT}}, "");
    EXPECT_EQ(reopened_, 2);
}

TEST_F(SignalLoopTest, ADrainIsTold) {
    run({{0, SIGTERM}}, "");
    EXPECT_FALSE(operations_.draining);
    run({{0, SIGQUIT}}, "grace_start_wait 0; grace_final_wait 0;");
    EXPECT_TRUE(operations_.draining);
}

}  // namespace
}  // namespace server
