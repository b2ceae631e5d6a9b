#include "runtime/loop/cpu_slice.h"

#include "runtime/loop/coroutine.h"
#include "runtime/loop/testing.h"

namespace runtime {
namespace {

using testing::ok;

class CpuSliceTest : public testing::RuntimeTest {};

void use_the_processor(int64_t us) {
    const int64_t end_us = thread_cpu_us() + us;
    while (thread_cpu_us() < end_us) {
    }
}

// The other coroutine counts only when this one yields.
TEST_F(CpuSliceTest, GivesWayWhenItsTimeIsUsedUpAndNotBefore) {
    int turns = 0;
    auto other = spawn("other", [&] {
        while (yield()) ++turns;
    });
    ASSERT_TRUE(ok(yield()));
    CpuSlice slice(1);
    const int before = turns;
    use_the_processor(kSliceUs + 100);
    ASSERT_TRUE(ok(slice.step()));
    EXPECT_GT(turns, before);

    // The new slice has just begun: a cheap step does not end it. (Unless the two calls themselves took that long.)
    const int then = turns;
    const int64_t began_us = thread_cpu_us();
    ASSERT_TRUE(ok(slice.step()));
    if (thread_cpu_us() - began_us < kSliceUs / 2) {
        EXPECT_EQ(turns, then);
    }
    other.cancel_and_join();
}

TEST_F(CpuSliceTest, ReadsTheClockOnceInSoManySteps) {
    int turns = 0;
    auto other = spawn("other", [&] {
        while (yield()) ++turns;
    });
    ASSERT_TRUE(ok(yield()));
    CpuSlice slice(4);
    const int before = turns;
    use_the_processor(kSliceUs + 100);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(ok(slice.step()));
    EXPECT_EQ(turns, before);
    ASSERT_TRUE(ok(slice.step()));
    EXPECT_GT(turns, before);
    other.cancel_and_join();
}

// 40 coroutines with 0.2 ms each add up to 8 ms: no loop iteration runs many of them.
TEST_F(CpuSliceTest, ManyWithALittleEachShareTheIterations) {
    constexpr int kMany = 40;
    int turns = 0, done = 0;
    auto other = spawn("other", [&] {
        while (yield()) ++turns;
    });
    for (int i = 0; i < kMany; ++i)
        spawn("one of many", [&] {
            await_short_iteration();
            use_the_processor(kLongIterationUs / 5);
            ++done;
        });
    while (done < kMany) ASSERT_TRUE(ok(yield()));
    EXPECT_GE(turns, kMany / 5 - 3);
    other.cancel_and_join();
}

TEST_F(CpuSliceTest, IsShorterInALongIteration) {
    int turns = 0;
    auto other = spawn("other", [&] {
        while (yield()) ++turns;
    });
    ASSERT_TRUE(ok(yield()));
    use_the_processor(kLongIterationUs + 100);
    CpuSlice slice(1);
    const int before = turns;
    use_the_processor(kSliceUs / 2 + 50);
    ASSERT_TRUE(ok(slice.step()));
    EXPECT_GT(turns, before);
    EXPECT_FALSE(slice_is_over(kSliceUs / 2 - 1));
    EXPECT_TRUE(slice_is_over(kSliceUs));
    other.cancel_and_join();
}

TEST_F(CpuSliceTest, SaysThatItsCoroutineWasCancelled) {
    bool cancelled = false;
    auto task = spawn("long", [&] {
        CpuSlice slice(1);
        while (slice.step()) {
        }
        cancelled = true;
    });
    ASSERT_TRUE(ok(sleep_ms(5)));
    task.cancel_and_join();
    EXPECT_TRUE(cancelled);
}

}  // namespace
}  // namespace runtime
