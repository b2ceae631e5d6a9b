#include "runtime/diagnose/watchdog.h"

#include <pthread.h>
#include <unistd.h>

#include <ctime>
#include <thread>

#include "runtime/loop/cpu_slice.h"
#include "runtime/loop/testing.h"

namespace runtime {
namespace {

using testing::ok;

// Spins until another thread has seen it use that much CPU time. It calls nothing meanwhile, not even the load() of a
// std::atomic, which is a function where tests are not optimised: a sample before a function has set its frame pointer,
// or in the sanitizer's clock_gettime, which keeps none, loses a caller.
__attribute__((noinline, noclone)) void planted_busy_function(int64_t ms) {
    clockid_t clock{};
    ASSERT_EQ(pthread_getcpuclockid(pthread_self(), &clock), 0);
    auto used_us = [clock] {
        timespec used{};
        clock_gettime(clock, &used);
        return used.tv_sec * 1'000'000LL + used.tv_nsec / 1000;
    };
    const int64_t end_us = used_us() + ms * 1000;
    bool is_over = false;
    std::thread watcher([&] {
        while (used_us() < end_us) usleep(500);
        __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    });
    volatile uint64_t sum = 0;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) sum = sum + 1;
    watcher.join();
}

__attribute__((noinline, noclone)) void planted_caller(int64_t ms) {
    planted_busy_function(ms);
    asm volatile("");  // not a tail call
}

void be_busy(int64_t ms) {
    for (const int64_t end_us = thread_cpu_us() + ms * 1000; thread_cpu_us() < end_us;) {
    }
}

__attribute__((noinline, noclone)) void planted_blocking_function(int64_t ms) {
    // The watchdog's signal ends a sleep early.
    for (const int64_t end = base::monotonic_us() + ms * 1000; base::monotonic_us() < end;)
        usleep(static_cast<useconds_t>(std::max<int64_t>(1, end - base::monotonic_us())));
}

class WatchdogTest : public testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        ASSERT_TRUE(ok(watch_stalls(40)));
    }
    void TearDown() override { ASSERT_TRUE(ok(watch_stalls(0))); }

    // Runs the body in a coroutine of that name and waits until a stall of this coroutine was reported.
    Stall stall_of(const std::string& name, std::move_only_function<void()> body) {
        auto task = spawn(name, [&] {
            set_context_id("stalltst");
            // In an iteration of its own.
            static_cast<void>(sleep_ms(5));
            body();
        });
        EXPECT_TRUE(ok(task.join(Deadline::in_ms(30'000))));
        for (int i = 0; i < 500; ++i) {
            for (const Stall& stall : loop_stats().last) {
                if (stall.coroutine == name) return stall;
            }
            EXPECT_TRUE(ok(sleep_ms(10)));
        }
        ADD_FAILURE() << "no stall of " << name << " was reported";
        return {};
    }
    static uint64_t busy_stalls() {
        uint64_t count = 0;
        for (const Stall& stall : loop_stats().last) count += stall.cause == StallCause::kBusy;
        return count;
    }
};

TEST(StallMinute, KeepsTheLongestOfTheLastMinute) {
    StallMinute minute;
    EXPECT_EQ(minute.longest_ms(5'000), 0);
    minute.add(300, 10'000);
    minute.add(80, 10'500);
    minute.add(120, 40'000);
    EXPECT_EQ(minute.longest_ms(40'000), 300);
    EXPECT_EQ(minute.longest_ms(69'999), 300);
    EXPECT_EQ(minute.longest_ms(70'000), 120) << "the first is a minute old";
    minute.add(60, 70'100);
    EXPECT_EQ(minute.longest_ms(99'000), 120);
    EXPECT_EQ(minute.longest_ms(100'000), 60);
    EXPECT_EQ(minute.longest_ms(1'000'000), 0);
}

TEST(UnscheduledReport, OneLineAMinute) {
    UnscheduledReport report;
    EXPECT_EQ(report.add(60, 1'000),
              "the loop was not scheduled for 60 ms: other processes or threads had the processor");
    EXPECT_EQ(report.add(50, 2'000), std::nullopt);
    EXPECT_EQ(report.add(150, 60'999), std::nullopt);
    EXPECT_EQ(report.add(40, 61'000),
              "the loop was not scheduled 3 times, 240 ms in all and 150 ms at most: other processes or threads had "
              "the processor");
    EXPECT_EQ(report.add(40, 61'001), std::nullopt);
    EXPECT_EQ(report.add(70, 200'000),
              "the loop was not scheduled 2 times, 110 ms in all and 70 ms at most: other processes or threads had the "
              "processor");
}

TEST_F(WatchdogTest, NamesTheBusyCoroutineAndItsFunction) {
    const Stall stall = stall_of("busy-coroutine", [] { planted_caller(300); });
    EXPECT_GE(stall.ms, 299);
    EXPECT_GE(loop_stats().longest_stall_ms, stall.ms);
    EXPECT_GE(loop_stats().stalls, 1u);
    EXPECT_GE(loop_stats().stalled_ms, stall.ms);
    EXPECT_EQ(stall.context_id, "stalltst");
    // Noticed within 60 ms of its beginning, if the watchdog itself gets to run.
    EXPECT_LE(stall.cpu_ms, stall.watched_ms + 10);
    EXPECT_LE(stall.watched_ms, stall.ms + 1);
    const std::string text = stall.describe();
    EXPECT_NE(text.find("planted_busy_function(long) < runtime::(anonymous namespace)::planted_caller(long)"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("coroutine busy-coroutine"), std::string::npos) << text;
    EXPECT_EQ(text.find("runtime_coroutine_main"), std::string::npos) << text;
    std::printf("%s\n", text.c_str());
}

TEST_F(WatchdogTest, TellsBlockingFromBusy) {
    const Stall stall = stall_of("blocked-coroutine", [] { planted_blocking_function(300); });
    EXPECT_GE(stall.ms, 299);
    EXPECT_NE(stall.cause, StallCause::kBusy) << stall.describe();
    EXPECT_NE(stall.describe().find("planted_blocking_function"), std::string::npos) << stall.describe();
    std::printf("%s\n", stall.describe().c_str());
}

// At whatever moment a stall begins, the watchdog looks at it when it has lasted stall_warn, 40 ms. A fixed interval of
// 40 ms would find half of these. A few may be missed on a busy machine, where the watchdog's thread is late.
TEST_F(WatchdogTest, ShortStallsAreFoundWheneverTheyBegin) {
    const uint64_t before = loop_stats().stalls;
    for (int i = 0; i < 20; ++i) {
        auto task = spawn("short-stall", [i] {
            static_cast<void>(sleep_ms(5 + 2 * i));
            be_busy(60);
        });
        ASSERT_TRUE(ok(task.join(Deadline::in_ms(30'000))));
    }
    ASSERT_TRUE(ok(sleep_ms(100)));
    EXPECT_GE(loop_stats().stalls - before, 15u);
}

// The process itself may be delayed on a busy machine: such stalls are reported as not scheduled.
TEST_F(WatchdogTest, IdleAndGivingWayAreNoStalls) {
    const uint64_t before = busy_stalls();
    ASSERT_TRUE(ok(sleep_ms(300)));
    auto task = spawn("gives-way", [] {
        for (int i = 0; i < 300; ++i) {
            be_busy(1);
            static_cast<void>(yield());
        }
    });
    ASSERT_TRUE(ok(task.join(Deadline::in_ms(30'000))));
    ASSERT_TRUE(ok(sleep_ms(100)));
    EXPECT_EQ(busy_stalls(), before);
}

TEST_F(WatchdogTest, NobodyWatchesWhenItIsOff) {
    ASSERT_TRUE(ok(watch_stalls(0)));
    const uint64_t before = loop_stats().stalls;
    auto task = spawn("unwatched", [] { be_busy(150); });
    ASSERT_TRUE(ok(task.join(Deadline::in_ms(30'000))));
    ASSERT_TRUE(ok(sleep_ms(50)));
    EXPECT_EQ(loop_stats().stalls, before);
}

TEST(Pauses, AreJudgedByWhatTheThreadsWaitedFor) {
    EXPECT_EQ(judge_pause(2'000, 0, 0), 0);
    EXPECT_EQ(judge_pause(299'000, 0, 0), 0);
    EXPECT_EQ(judge_pause(2'000'000, 10'000, 0), 1'990'000);
    EXPECT_EQ(judge_pause(2'000'000, 1'900'000, 0), 0) << "others had the processor";
    EXPECT_EQ(judge_pause(2'000'000, -1, 0), 0) << "that may be so";
    EXPECT_EQ(judge_pause(5'000'000, -1, 0), 5'000'000);
    EXPECT_EQ(judge_pause(0, 0, 60'000'000), 60'000'000) << "the machine was suspended";
    EXPECT_EQ(judge_pause(-50'000, 0, 100), 0);
}

TEST(Stalls, AreJudgedByWhereTheTimeWent) {
    EXPECT_EQ(judge_stall(100'000, 100'000, 0), StallCause::kBusy);
    EXPECT_EQ(judge_stall(100'000, 50'000, 50'000), StallCause::kBusy);
    EXPECT_EQ(judge_stall(100'000, 2'000, 96'000), StallCause::kNotScheduled);
    EXPECT_EQ(judge_stall(100'000, 2'000, 3'000), StallCause::kBlocked);
    EXPECT_EQ(judge_stall(100'000, 2'000, -1), StallCause::kUnknown);
    EXPECT_EQ(judge_stall(100'000, 40'000, 40'000), StallCause::kNotScheduled);
}

// In whole milliseconds the first two had no processor time.
TEST(Stalls, WatchedForAMomentAreNotCalledBlocked) {
    EXPECT_EQ(judge_stall(1'900, 980, 0), StallCause::kBusy);
    EXPECT_EQ(judge_stall(900, 880, 0), StallCause::kBusy);
    EXPECT_EQ(judge_stall(1'900, 100, 900), StallCause::kNotScheduled);
    EXPECT_EQ(judge_stall(900, 10, 10), StallCause::kUnknown);
    EXPECT_EQ(judge_stall(0, 0, 0), StallCause::kUnknown) << "it ended at the moment it was noticed";
}

TEST(Stalls, AreDescribed) {
    Stall stall{173, 150, 3, 140, StallCause::kNotScheduled, "rtmp", "abcd", {"f()", "g(int)"}};
    EXPECT_EQ(stall.describe(),
              "the loop stalled for 173 ms: coroutine rtmp, 3 ms of processor time in the 150 ms watched: not "
              "scheduled, other processes or threads had the processor for 140 ms; at f() < g(int)");
    Stall of_thread{262, 262, 1, 3, StallCause::kBlocked, "", "", {}, "sender thread 1"};
    EXPECT_EQ(
        of_thread.describe(),
        "sender thread 1 stalled for 262 ms: one call, 1 ms of processor time in the 262 ms watched: blocked in a "
        "system call");
}

}  // namespace
}  // namespace runtime
