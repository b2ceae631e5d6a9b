#include <sys/socket.h>

#include <csignal>
#include <vector>

#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/sync.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/tcp_stream.h"

namespace runtime {
namespace {

using base::Code;
using testing::failed_with;
using testing::ok;
using testing::SimulatedTime;

class SimulatedTimeTest : public testing::RuntimeTest {};

TEST_F(SimulatedTimeTest, StandsStillUntilItPasses) {
    SimulatedTime time;
    const int64_t before = now_us();
    const int64_t began_us = base::monotonic_us();
    while (base::monotonic_us() < began_us + 5'000) continue;
    EXPECT_EQ(now_us(), before);
    EXPECT_EQ(before % 1000, 0);
    const Deadline deadline = Deadline::in_ms(10);
    time.pass_ms(9);
    EXPECT_FALSE(deadline.passed());
    EXPECT_EQ(deadline.left_us(), 1000);
    time.pass_ms(1);
    EXPECT_TRUE(deadline.passed());
    EXPECT_EQ(now_us(), before + 10'000);
}

TEST_F(SimulatedTimeTest, IsTheTimeOfAnEvent) {
    SimulatedTime time;
    EXPECT_EQ(event_us(), now_us());
    time.pass_ms(10);
    EXPECT_EQ(event_us(), now_us());
}

TEST_F(SimulatedTimeTest, TheTimeOfAnEventDoesNotGoBackBehindIt) {
    (void)event_us();
    int64_t simulated_us = 0;
    {
        const SimulatedTime time;
        simulated_us = now_us();
    }
    EXPECT_GE(event_us(), simulated_us);
}

TEST_F(SimulatedTimeTest, SleepsEndAtTheirDeadlines) {
    SimulatedTime time;
    const int64_t began = now_ms();
    std::vector<int64_t> woken;
    std::vector<Task> tasks;
    for (int ms : {30, 10, 20, 10, 0}) {
        tasks.push_back(spawn("sleeper", [&, ms] {
            for (int i = 0; i < 2; ++i) {
                EXPECT_TRUE(ok(sleep_ms(ms)));
                woken.push_back(now_ms() - began);
            }
        }));
    }
    time.settle();
    EXPECT_EQ(woken, (std::vector<int64_t>{0, 0}));
    time.pass_ms(19);
    EXPECT_EQ(woken, (std::vector<int64_t>{0, 0, 10, 10}));
    time.pass_ms(100);
    EXPECT_EQ(woken, (std::vector<int64_t>{0, 0, 10, 10, 20, 20, 20, 30, 40, 60}));
    for (const Task& task : tasks) EXPECT_TRUE(task.done());
}

TEST_F(SimulatedTimeTest, AnHourTakesNoTime) {
    const int64_t began_us = base::monotonic_us();
    SimulatedTime time;
    int seconds = 0;
    auto task = spawn("ticks", [&] {
        while (sleep_ms(1000)) ++seconds;
    });
    time.pass_ms(3'600'000);
    EXPECT_EQ(seconds, 3600);
    task.cancel_and_join();
    EXPECT_LT(base::monotonic_us() - began_us, 30'000'000);
}

// A deadline between two milliseconds is rounded up, as by the running clock.
TEST_F(SimulatedTimeTest, DeadlinesAreRoundedUp) {
    SimulatedTime time;
    const int64_t began_us = now_us();
    int64_t woken_us = 0;
    auto task = spawn("sleeper", [&] {
        EXPECT_TRUE(ok(sleep_until(Deadline::at_us(began_us + 2'300))));
        woken_us = now_us();
    });
    time.pass_ms(10);
    EXPECT_EQ(woken_us, began_us + 3'000);
}

TEST_F(SimulatedTimeTest, WaitsTimeOutByIt) {
    SimulatedTime time;
    Event event;
    bool late = false;
    auto task = spawn("waiter", [&] {
        EXPECT_TRUE(failed_with(event.wait(Deadline::in_ms(50)), Code::kTimeout));
        late = true;
    });
    time.pass_ms(49);
    EXPECT_FALSE(late);
    time.pass_ms(1);
    EXPECT_TRUE(late);
}

TEST_F(SimulatedTimeTest, WhatSocketsBringIsReadWithoutTime) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    auto client = detail::TcpStream::make(ends[0], {}), server = detail::TcpStream::make(ends[1], {});
    ASSERT_TRUE(ok(client) && ok(server));
    SimulatedTime time;
    constexpr int kRounds = 20;
    int rounds = 0;
    const auto play = [&](ByteStream& stream, bool begins) {
        uint8_t byte = 1;
        for (int i = 0; i < kRounds; ++i) {
            EXPECT_TRUE(!begins || ok(stream.write({&byte, 1}, Deadline::in_ms(1))));
            EXPECT_TRUE(ok(stream.read({&byte, 1}, Deadline::in_ms(1))));
            EXPECT_TRUE(begins || ok(stream.write({&byte, 1}, Deadline::in_ms(1))));
            rounds += begins;
        }
    };
    auto first = spawn("first", [&] { play(**client, true); });
    auto second = spawn("second", [&] { play(**server, false); });
    time.settle();
    EXPECT_EQ(rounds, kRounds);
    EXPECT_TRUE(first.done() && second.done());
}

TEST_F(SimulatedTimeTest, ACoroutineThatAlwaysYieldsDoesNotHoldItUp) {
    SimulatedTime time;
    bool stop = false, woken = false;
    auto busy = spawn("busy", [&] {
        while (!stop) static_cast<void>(yield());
    });
    auto sleeper = spawn("sleeper", [&] { woken = sleep_ms(5).has_value(); });
    time.pass_ms(4);
    EXPECT_FALSE(woken);
    time.pass_ms(1);
    EXPECT_TRUE(woken);
    stop = true;
    time.settle();
    EXPECT_TRUE(busy.done());
}

TEST_F(SimulatedTimeTest, TheClockRunsOnFromIt) {
    int64_t simulated_us = 0;
    int64_t deadline_us = 0;
    Task task;
    {
        SimulatedTime time;
        time.pass_ms(60'000);
        simulated_us = now_us();
        task = spawn("sleeper", [&] { EXPECT_TRUE(ok(sleep_until(Deadline::at_us(deadline_us)))); });
        deadline_us = simulated_us + 5'000;
        time.settle();
    }
    EXPECT_GE(now_us(), simulated_us);
    const int64_t began_us = base::monotonic_us();
    EXPECT_TRUE(ok(task.join(Deadline::in_ms(5'000))));
    EXPECT_GE(now_us(), deadline_us);
    EXPECT_LT(base::monotonic_us() - began_us, 1'000'000);
}

TEST(SimulatedTimeDeathTest, ATestThatSleepsItselfIsEnded) {
    ASSERT_EXIT(
        {
            testing::start_loop_once();
            SimulatedTime time;
            alarm(1);
            static_cast<void>(sleep_ms(10));
        },
        ::testing::KilledBySignal(SIGALRM), "");
}

}  // namespace
}  // namespace runtime
