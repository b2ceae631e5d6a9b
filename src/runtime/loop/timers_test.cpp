#include "runtime/loop/timers.h"

#include <unistd.h>

#include <functional>
#include <memory>
#include <vector>

#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace runtime {
namespace {

struct Call final : Timer {
    std::function<void()> action = [] {};
    std::vector<int64_t> at_ms;
    void on_due() override {
        at_ms.push_back(now_ms());
        action();
    }
};

using TimersTest = testing::RuntimeTest;

TEST_F(TimersTest, EachIsCalledOnceAtItsTime) {
    testing::SimulatedTime time;
    time.pass_ms(TickWheel::kTickMs - now_ms() % TickWheel::kTickMs);
    const int64_t began_ms = now_ms();
    Call late, soon, moved, cancelled;
    late.set(began_ms + 6'000);
    soon.set(began_ms + 20);
    moved.set(began_ms + 10);
    cancelled.set(began_ms + 10);
    moved.set(began_ms + 100);
    cancelled.cancel();
    time.pass_ms(7'000);
    EXPECT_EQ(late.at_ms, (std::vector{began_ms + 6'000}));
    EXPECT_EQ(soon.at_ms, (std::vector{began_ms + 20}));
    EXPECT_EQ(moved.at_ms, (std::vector{began_ms + 100}));
    EXPECT_TRUE(cancelled.at_ms.empty());
}

TEST_F(TimersTest, ACallMaySetItselfAndDestroyOthers) {
    testing::SimulatedTime time;
    time.pass_ms(TickWheel::kTickMs - now_ms() % TickWheel::kTickMs);
    const int64_t began_ms = now_ms();
    Call again;
    auto other = std::make_unique<Call>();
    again.action = [&] {
        other.reset();
        if (again.at_ms.size() < 3) again.set(now_ms() + 30);
    };
    again.set(began_ms + 10);
    other->set(began_ms + 10);
    time.pass_ms(1'000);
    EXPECT_EQ(again.at_ms, (std::vector{began_ms + 10, began_ms + 40, began_ms + 70}));
}

TEST_F(TimersTest, OthersRunBetweenTheCallsOfATime) {
    testing::SimulatedTime time;
    std::vector<std::unique_ptr<Call>> calls;
    size_t called = 0, most_at_once = 0, seen = 0;
    for (int i = 0; i < 200; ++i) {
        calls.push_back(std::make_unique<Call>());
        calls.back()->action = [&] { ++called; };
        calls.back()->set(now_ms() + 10);
    }
    auto other = spawn("other", [&] {
        while (yield()) {
            most_at_once = std::max(most_at_once, called - seen);
            seen = called;
            if (called == calls.size()) return;
        }
    });
    // The other never waits for time: it is moved without settling.
    detail::loop_clock.stopped_at_us += 20'000;
    while (!other.done()) ASSERT_TRUE(testing::ok(yield()));
    EXPECT_EQ(called, calls.size());
    EXPECT_LE(most_at_once, 32u);
}

// The coroutine of the timers lets others run between two calls; the timers that were left may be gone then.
TEST_F(TimersTest, TheEndMayComeBetweenTwoCalls) {
    bool was_called = false;
    std::vector<std::unique_ptr<Call>> calls;
    for (int i = 0; i < 100; ++i) {
        calls.push_back(std::make_unique<Call>());
        calls.back()->action = [&] { was_called = true; };
        calls.back()->set(now_ms());
    }
    while (!was_called) ASSERT_TRUE(testing::ok(yield()));
    ASSERT_TRUE(calls.back()->is_set()) << "it is due, too, and not called yet";
    calls.clear();
    alarm(20);  // it would wait for a timer
    detail::stop_timers();
    alarm(0);
    ASSERT_TRUE(testing::ok(detail::start_timers()));
}

}  // namespace
}  // namespace runtime
