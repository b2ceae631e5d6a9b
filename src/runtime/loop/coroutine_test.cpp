#include "runtime/loop/coroutine.h"

#include <execinfo.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <thread>

#include "base/log.h"
#include "runtime/loop/coroutine_state.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/sync.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/stream_testing.h"

namespace runtime {
namespace {

using base::Code;
using testing::failed_with;
using testing::ok;
using testing::soon;
using testing::work_us;

class CoroutineTest : public testing::RuntimeTest {};

TEST_F(CoroutineTest, AnEventHasOneTimeUntilACoroutineRunsOn) {
    const int64_t first = event_us();
    work_us(100);
    EXPECT_EQ(event_us(), first);
    EXPECT_EQ(event_ms(), first / 1000);
    int64_t of_other = 0;
    auto other = spawn("other", [&] {
        work_us(100);
        of_other = event_us();
        work_us(100);
    });
    ASSERT_TRUE(ok(other.join(soon())));
    EXPECT_GE(of_other, first + 200);
    EXPECT_GE(event_us(), of_other + 100) << "this coroutine runs on";
    EXPECT_LE(event_us(), now_us());
}

TEST_F(CoroutineTest, StartsWhenTheCallerYields) {
    bool ran = false;
    auto task = spawn("one", [&] { ran = true; });
    EXPECT_FALSE(ran);
    EXPECT_FALSE(task.done());
    ASSERT_TRUE(ok(task.join(soon())));
    EXPECT_TRUE(ran);
    EXPECT_TRUE(task.done());
    EXPECT_TRUE(ok(task.join(soon())));  // again
    task.cancel();                       // harmless
}

#if defined(__x86_64__)
bool in_first_frame(const void* address) { return detail::is_in_first_frame(reinterpret_cast<uintptr_t>(address)); }

// Walks the stack as perf, gperftools and the sanitizers do: by unwind tables, and by frame pointers.
TEST_F(CoroutineTest, ItsStackEndsInTheFirstFrame) {
    auto task = spawn("walked", [] {
        void* frames[64];
        const int count = backtrace(frames, 64);
        ASSERT_GT(count, 2);
        ASSERT_LT(count, 64);
        EXPECT_TRUE(in_first_frame(frames[count - 1])) << count;

        const void* last = nullptr;
        int walked = 0;
        for (auto frame = static_cast<void* const*>(__builtin_frame_address(0)); frame && walked < 64; ++walked) {
            last = frame[1];
            frame = static_cast<void* const*>(frame[0]);
        }
        EXPECT_LT(walked, 64);
        EXPECT_TRUE(in_first_frame(last)) << walked;
    });
    ASSERT_TRUE(ok(task.join(soon())));
}
#endif

TEST_F(CoroutineTest, JoinDeadline) {
    auto task = spawn("sleeper", [] { EXPECT_TRUE(failed_with(sleep_ms(10'000), Code::kCancelled)); });
    EXPECT_TRUE(failed_with(task.join(Deadline::in_ms(10)), Code::kTimeout));
    task.cancel_and_join();
    EXPECT_TRUE(task.done());
}

TEST_F(CoroutineTest, ADroppedTaskRunsOn) {
    Event done;
    spawn("detached", [&] {
        EXPECT_TRUE(ok(sleep_ms(2)));
        done.set();
    });
    EXPECT_TRUE(ok(done.wait(soon())));
}

TEST_F(CoroutineTest, CancelStays) {
    auto task = spawn("stubborn", [] {
        EXPECT_FALSE(cancelled());
        for (int i = 0; i < 3; ++i) EXPECT_TRUE(failed_with(sleep_ms(10'000), Code::kCancelled));
        EXPECT_TRUE(failed_with(yield(), Code::kCancelled));
        Event event;
        event.set();
        EXPECT_TRUE(failed_with(event.wait(soon()), Code::kCancelled));
        EXPECT_TRUE(cancelled());
    });
    ASSERT_TRUE(ok(yield()));
    task.cancel();
    EXPECT_FALSE(task.done());  // it ends by itself
    EXPECT_TRUE(ok(task.join(soon())));
}

TEST_F(CoroutineTest, CancelBeforeItStarts) {
    bool ran = false;
    auto task = spawn("late", [&] {
        ran = true;
        EXPECT_TRUE(failed_with(sleep_ms(10'000), Code::kCancelled));
    });
    task.cancel_and_join();
    EXPECT_TRUE(ran);
}

TEST_F(CoroutineTest, CancelAndJoinInACancelledCaller) {
    bool inner_done = false;
    auto outer = spawn("outer", [&] {
        auto inner = spawn("inner", [&] {
            while (!cancelled()) static_cast<void>(sleep_ms(1000));
            // Its own cleanup takes a while.
            for (int i = 0; i < 3; ++i) spawn("nothing", [] {}).cancel_and_join();
            inner_done = true;
        });
        EXPECT_FALSE(ok(sleep_ms(10'000)));
        inner.cancel_and_join();
        EXPECT_TRUE(inner_done);
    });
    ASSERT_TRUE(ok(sleep_ms(2)));
    outer.cancel_and_join();
    EXPECT_TRUE(inner_done);
}

TEST_F(CoroutineTest, JoinedBySeveral) {
    auto task = spawn("joined", [] { EXPECT_TRUE(ok(sleep_ms(5))); });
    int joined = 0;
    std::vector<Task> joiners;
    for (int i = 0; i < 5; ++i) {
        joiners.push_back(spawn("joiner", [&joined, task]() mutable {
            EXPECT_TRUE(ok(task.join(soon())));
            ++joined;
        }));
    }
    for (auto& joiner : joiners) EXPECT_TRUE(ok(joiner.join(soon())));
    EXPECT_EQ(joined, 5);
}

TEST_F(CoroutineTest, SleepsAtLeastAsLongAndNotMuchLonger) {
    for (int ms : {0, 1, 2, 5, 20}) {
        const int64_t start = base::monotonic_us();
        ASSERT_TRUE(ok(sleep_ms(ms)));
        const int64_t took = base::monotonic_us() - start;
        EXPECT_GE(took, ms * 1000);
        EXPECT_LT(took, ms * 1000 + 200'000);
    }
}

TEST_F(CoroutineTest, SleepsToMultiplesCoincide) {
    testing::SimulatedTime time;
    std::vector<int64_t> woken_ms;
    std::vector<Task> tasks;
    for (int i = 0; i < 3; ++i) {
        time.pass_ms(17);
        tasks.push_back(spawn("periodic", [&] {
            for (int n = 0; n < 4 && sleep_to_multiple(100); ++n) woken_ms.push_back(now_ms());
        }));
    }
    time.pass_ms(600);
    ASSERT_EQ(woken_ms.size(), 12u);
    for (int64_t at_ms : woken_ms) EXPECT_EQ(at_ms % 100, 0);
    std::ranges::sort(woken_ms);
    EXPECT_LE(woken_ms.back() - woken_ms.front(), 400) << "each wakes at the next multiple";
}

// CPU time that a coroutine spends before it waits counts: the deadline is a point in time.
TEST_F(CoroutineTest, DeadlinesDoNotDependOnTheLoopsOldClock) {
    ASSERT_TRUE(ok(yield()));
    const int64_t start = base::monotonic_ms();
    while (base::monotonic_ms() - start < 30) {
    }
    const int64_t before = base::monotonic_us();
    ASSERT_TRUE(ok(sleep_ms(20)));
    EXPECT_GE(base::monotonic_us() - before, 20'000);
}

// state-threads alone would spin through the last millisecond before each timer.
TEST_F(CoroutineTest, WaitingForATimerTakesNoProcessorTime) {
    const auto cpu_us = [] {
        timespec t;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return t.tv_sec * 1'000'000LL + t.tv_nsec / 1000;
    };
    const int64_t start = cpu_us();
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(ok(sleep_until(Deadline::at_us(base::monotonic_us() + 3700))));
    // Spinning costs 700 us each time and more; the wake-up itself a few.
    EXPECT_LT((cpu_us() - start) / 40, 350);
}

TEST_F(CoroutineTest, DeadlinesFireInOrder) {
    std::vector<int> order;
    std::vector<Task> tasks;
    for (int ms : {30, 10, 20, 5}) {
        tasks.push_back(spawn("sleeper", [&order, ms] {
            EXPECT_TRUE(ok(sleep_ms(ms)));
            order.push_back(ms);
        }));
    }
    for (auto& task : tasks) EXPECT_TRUE(ok(task.join(soon())));
    EXPECT_EQ(order, (std::vector<int>{5, 10, 20, 30}));
}

TEST_F(CoroutineTest, YieldLetsOthersRun) {
    int turns = 0;
    bool stop = false;
    auto other = spawn("other", [&] {
        while (!stop) {
            ++turns;
            EXPECT_TRUE(ok(yield()));
        }
    });
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(ok(yield()));
    stop = true;
    EXPECT_TRUE(ok(other.join(soon())));
    EXPECT_GE(turns, 9);
    EXPECT_LE(turns, 12);
}

TEST_F(CoroutineTest, ContextIdsAreInheritedAndScoped) {
    EXPECT_EQ(current_name(), "main");
    set_context_id("parent");
    auto task = spawn("child", [] {
        EXPECT_EQ(current_name(), "child");
        EXPECT_EQ(context_id(), "parent");
        set_context_id("child-id");
        {
            ContextScope scope("viewer");
            EXPECT_EQ(context_id(), "viewer");
        }
        EXPECT_EQ(context_id(), "child-id");
    });
    EXPECT_TRUE(ok(task.join(soon())));
    EXPECT_EQ(context_id(), "parent");
    set_context_id("");
}

TEST_F(CoroutineTest, NewContextIds) {
    const std::string a = new_context_id();
    EXPECT_EQ(a.size(), 8u);
    EXPECT_EQ(a.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz"), std::string::npos);
    EXPECT_NE(a, new_context_id());
}

CoroutineInfo find_listed(std::string_view name, bool with_calls = false) {
    for (auto& info : list_coroutines(with_calls)) {
        if (info.name == name) return info;
    }
    return {};
}

TEST_F(CoroutineTest, ListsWhatRuns) {
    const size_t before = coroutine_count();
    auto task = spawn("listed", [] { static_cast<void>(sleep_ms(10'000)); }, {.stack_bytes = 128 * 1024});
    EXPECT_GE(find_listed("listed").stack_bytes, 128u * 1024);
    EXPECT_EQ(std::string(find_listed("listed").waits_for), "its first run");
    EXPECT_EQ(coroutine_count(), before + 1);
    task.cancel_and_join();
    EXPECT_EQ(find_listed("listed").name, "");
    EXPECT_EQ(coroutine_count(), before);
}

TEST_F(CoroutineTest, ListsWhatEachWaitsFor) {
    testing::SimulatedTime time;
    time.settle();
    Event event("Godot");
    auto sleeper = spawn("sleeper", [] { static_cast<void>(sleep_ms(100'000)); });
    auto waiter = spawn("waiter", [&] {
        [[maybe_unused]] volatile char deep[8000] = {};
        static_cast<void>(event.wait(Deadline::never()));
    });
    time.pass_ms(20);
    const auto sleeps = find_listed("sleeper");
    EXPECT_EQ(std::string(sleeps.waits_for), "a timer");
    EXPECT_EQ(sleeps.waits_ms, 20);
    EXPECT_EQ(sleeps.left_ms, 100'000 - 20);
    EXPECT_GT(sleeps.stack_now_bytes, 100u);
    EXPECT_LT(sleeps.stack_now_bytes, sleeps.stack_bytes);
    const auto waits = find_listed("waiter");
    EXPECT_EQ(std::string(waits.waits_for), "Godot");
    EXPECT_EQ(waits.left_ms, -1);
    EXPECT_GT(waits.stack_now_bytes, sleeps.stack_now_bytes + 7000);
    const auto me = find_listed("main");
    EXPECT_EQ(std::string(me.waits_for), "nothing");
    EXPECT_GT(me.stack_now_bytes, 100u);
    const auto events = find_listed("events");
    EXPECT_EQ(std::string(events.waits_for), "events of descriptors");
    EXPECT_GE(events.fd, 0);
    sleeper.cancel_and_join();
    waiter.cancel_and_join();
}

// Looks for "7f0000001000-7f0000002000 ---p": whether the page below the stack is inaccessible.
bool mapped_without_access(const char* page) {
    FILE* maps = std::fopen("/proc/self/maps", "r");
    char line[512];
    bool found = false;
    while (std::fgets(line, sizeof line, maps)) {
        unsigned long low = 0, high = 0;
        char access[5] = "";
        if (std::sscanf(line, "%lx-%lx %4s", &low, &high, access) != 3) continue;
        const auto at = reinterpret_cast<unsigned long>(page);
        if (low <= at && at < high) found = access[0] == '-' && access[1] == '-';
    }
    std::fclose(maps);
    return found;
}

TEST_F(CoroutineTest, EachStackHasAGuardPage) {
    std::vector<Task> tasks;
    for (size_t size : {16u, 64u, 100u, 256u}) {
        tasks.push_back(spawn("guarded",
                              [] {
                                  const auto& stack = *detail::current().stack;
                                  const char here = 0;
                                  EXPECT_GT(&here, stack.low);
                                  EXPECT_LT(&here, stack.top);
                                  EXPECT_EQ(reinterpret_cast<uintptr_t>(detail::current().thread) / detail::page_size(),
                                            (reinterpret_cast<uintptr_t>(stack.top) - 1) / detail::page_size());
                                  EXPECT_TRUE(stack.guarded);
                                  EXPECT_TRUE(mapped_without_access(stack.low - 1));
                                  EXPECT_FALSE(mapped_without_access(stack.low));
                              },
                              {.stack_bytes = std::max<size_t>(size, 32) * 1024}));
    }
    for (auto& task : tasks) EXPECT_TRUE(ok(task.join(soon())));
}

__attribute__((noinline)) int recurse(int depth) {
    volatile char frame[512];
    std::memset(const_cast<char*>(frame), depth, sizeof frame);
    return depth < 0 ? 0 : recurse(depth + 1) + frame[5];
}

TEST_F(CoroutineTest, AnOverflowNamesItsCoroutine) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            set_context_id("k3f92a0x");
            auto task = spawn("deep-diver", [] { recurse(0); });
            static_cast<void>(task.join(soon()));
        },
#ifdef SRS_SANITIZER
        "stack-overflow");
#else
        "coroutine deep-diver \\[k3f92a0x\\] overflowed its stack of 65536 bytes");
#endif
}

size_t resident_kb() {
    FILE* file = std::fopen("/proc/self/statm", "r");
    unsigned long size = 0, resident = 0;
    EXPECT_EQ(std::fscanf(file, "%lu %lu", &size, &resident), 2);
    std::fclose(file);
    return resident * detail::page_size() / 1024;
}

TEST_F(CoroutineTest, ManyAtOnceGiveTheirMemoryBack) {
    constexpr int kCount = 10'000;
    const auto crowd = [](int count) {
        Event go;
        int ran = 0;
        for (int i = 0; i < count; ++i) {
            ASSERT_TRUE(spawn("crowd", [&] {
                volatile char deep[9000];
                std::memset(const_cast<char*>(deep), 1, sizeof deep);
                EXPECT_TRUE(ok(go.wait(soon())));
                ++ran;
            }));
        }
        ASSERT_TRUE(ok(yield()));
        go.set();
        while (ran < count) ASSERT_TRUE(ok(yield()));
    };
    crowd(100);
    const size_t before = resident_kb();
    crowd(kCount);
    const size_t after = resident_kb();
    RecordProperty("kb_before", static_cast<int>(before));
    RecordProperty("kb_after", static_cast<int>(after));
    std::printf("resident kB before %zu, after %zu\n", before, after);
#ifndef SRS_SANITIZER
    EXPECT_LT(after, before + 8 * 1024);  // 130 MB while they ran
#endif
}

TEST_F(CoroutineTest, TwoThousandTalkToEachOther) {
    constexpr int kCount = 2000;
    struct Link {
        int value = 0;
        Event arrived;
    };
    std::vector<std::unique_ptr<Link>> links;
    for (int i = 0; i <= kCount; ++i) links.push_back(std::make_unique<Link>());
    const auto pass_on = [&](size_t to, int value) {
        links[to]->value = value;
        links[to]->arrived.set();
    };
    std::vector<Task> tasks;
    for (size_t i = 0; i < kCount; ++i) {
        tasks.push_back(spawn("link", [&, i] {
            for (int value = 0; value < 1'000'000;) {
                if (!links[i]->arrived.wait(soon())) return;
                links[i]->arrived.reset();
                value = links[i]->value;
                pass_on(i + 1, value + 1);
            }
        }));
    }
    for (const int first : {0, 1'000'000}) {
        pass_on(0, first);
        ASSERT_TRUE(ok(links[kCount]->arrived.wait(soon())));
        links[kCount]->arrived.reset();
        EXPECT_EQ(links[kCount]->value, first + kCount);
    }
    for (auto& task : tasks) EXPECT_TRUE(ok(task.join(soon())));
}

// A line of the watchdog about a loop that hangs: the running coroutine may end while it is written.
TEST_F(CoroutineTest, WhatAnotherThreadLogsNamesNoCoroutine) {
    const std::string before = context_id();
    set_context_id("abcd1234");
    ::testing::internal::CaptureStderr();
    std::thread([] { base::log::last_words("from elsewhere"); }).join();
    base::log::last_words("from here");
    const std::string said = ::testing::internal::GetCapturedStderr();
    set_context_id(before);
    EXPECT_NE(said.find("[-][0] from elsewhere"), std::string::npos) << said;
    EXPECT_NE(said.find("[abcd1234][0] from here"), std::string::npos) << said;
}

TEST_F(CoroutineTest, StackHighWaterMark) {
    EXPECT_TRUE(ok(spawn("shallow", [] { EXPECT_TRUE(ok(yield())); }).join(soon())));
    spawn("deep", [] {
        volatile char deep[20'000];
        std::memset(const_cast<char*>(deep), 1, sizeof deep);
    }).cancel_and_join();
    size_t shallow = 0, deep = 0;
    for (const auto& mark : stack_high_water_marks()) {
        if (mark.name == "shallow") shallow = mark.stack_used_bytes;
        if (mark.name == "deep") deep = mark.stack_used_bytes;
    }
#ifdef SRS_DEBUG
    EXPECT_GT(shallow, 500u);
    EXPECT_GT(deep, 20'000u);
    EXPECT_LT(deep, 40'000u);
#else
    EXPECT_EQ(shallow + deep, 0u);
#endif
}

}  // namespace
}  // namespace runtime
