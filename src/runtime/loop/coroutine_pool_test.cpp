#include "runtime/loop/coroutine_pool.h"

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

struct Job final : Work {
    explicit Job(std::function<void(const Task&)> to_do = {}) : body(std::move(to_do)) {}
    void work(const Task& task) override {
        ++runs;
        if (body) body(task);
    }
    std::function<void(const Task&)> body;
    int runs = 0;
};

class CoroutinePoolTest : public testing::RuntimeTest {
  protected:
    ~CoroutinePoolTest() override { limit_coroutines(SIZE_MAX); }
    // Yields until the pool has done what was given and what that gave.
    static void settle() {
        for (int i = 0; i < 5; ++i) ASSERT_TRUE(ok(yield()));
    }
};

TEST_F(CoroutinePoolTest, OneCoroutineDoesWhatDoesNotYieldInTurn) {
    CoroutinePool pool("pool");
    std::vector<int> order;
    std::vector<const void*> stacks;
    std::vector<std::unique_ptr<Job>> jobs;
    for (int i = 0; i < 100; ++i) {
        jobs.push_back(std::make_unique<Job>([&, i](const Task&) {
            order.push_back(i);
            stacks.push_back(__builtin_frame_address(0));
        }));
        EXPECT_TRUE(pool.give(*jobs.back()));
    }
    EXPECT_TRUE(order.empty()) << "give() must not run it";
    settle();
    ASSERT_EQ(order.size(), 100u);
    EXPECT_TRUE(std::ranges::is_sorted(order));
    EXPECT_EQ(std::ranges::count(stacks, stacks[0]), 100);
}

TEST_F(CoroutinePoolTest, WhileOneWaitsTheRestIsDone) {
    CoroutinePool pool("pool");
    Event release;
    Job waits([&](const Task&) { EXPECT_TRUE(ok(release.wait(soon()))); });
    Job waits_too = Job(waits.body);
    Job last;
    for (Job* job : {&waits, &waits_too, &last}) pool.give(*job);
    settle();
    EXPECT_EQ(waits.runs, 1);
    EXPECT_EQ(waits_too.runs, 1);
    EXPECT_EQ(last.runs, 1) << "it should not wait for the two before it";
    release.set();
    settle();
}

TEST_F(CoroutinePoolTest, GivenTwiceItRunsOnceAndMayBeGivenAgainMeanwhile) {
    CoroutinePool pool("pool");
    Job again;
    again.body = [&](const Task&) {
        if (again.runs < 3) pool.give(again);
    };
    pool.give(again);
    pool.give(again);
    settle();
    EXPECT_EQ(again.runs, 3);
}

TEST_F(CoroutinePoolTest, TakenBackItDoesNotRun) {
    CoroutinePool pool("pool");
    Job first, second;
    pool.give(first);
    pool.give(second);
    pool.take_back(first);
    pool.take_back(first);
    settle();
    EXPECT_EQ(first.runs, 0);
    EXPECT_EQ(second.runs, 1);
    pool.give(first);
    settle();
    EXPECT_EQ(first.runs, 1);
}

TEST_F(CoroutinePoolTest, ACancelledWorkEndsItsCoroutineAndNoOther) {
    CoroutinePool pool("pool");
    Task task;
    base::Result<void> result;
    Job waits([&](const Task& mine) {
        task = mine;
        result = sleep_ms(60'000);
    });
    pool.give(waits);
    settle();
    ASSERT_FALSE(task.done());
    Job next([&](const Task&) { EXPECT_TRUE(ok(yield())) << "its coroutine was not cancelled"; });
    task.cancel();
    pool.give(next);
    EXPECT_TRUE(ok(task.join(soon())));
    EXPECT_TRUE(failed_with(result, Code::kCancelled));
    settle();
    EXPECT_EQ(next.runs, 1);
}

TEST_F(CoroutinePoolTest, IdleCoroutinesAreKeptAFewForGoodTheOthersForASecondOrTwo) {
    const size_t before = coroutine_count();
    {
        CoroutinePool pool("pool");
        std::vector<std::unique_ptr<Job>> jobs;
        for (int i = 0; i < 40; ++i) {
            jobs.push_back(std::make_unique<Job>([](const Task&) { EXPECT_TRUE(ok(yield())); }));
            pool.give(*jobs.back());
        }
        testing::SimulatedTime time;
        time.pass_ms(1'000);
        for (const auto& job : jobs) EXPECT_EQ(job->runs, 1);
        EXPECT_EQ(coroutine_count(), before + 40) << "for the next burst";
        time.pass_ms(2'000);
        EXPECT_EQ(coroutine_count(), before + 16);
        for (const auto& job : jobs) pool.give(*job);
        time.pass_ms(2'500);
        EXPECT_EQ(coroutine_count(), before + 16);
        for (const auto& job : jobs) EXPECT_EQ(job->runs, 2);
    }
    EXPECT_EQ(coroutine_count(), before) << "the pool's end should be theirs";
}

TEST_F(CoroutinePoolTest, WithoutMemoryItWaitsForAFreeCoroutine) {
    CoroutinePool pool("pool");
    limit_coroutines(coroutine_count());
    Job first;
    EXPECT_FALSE(pool.give(first));
    settle();
    EXPECT_EQ(first.runs, 0);
    limit_coroutines(coroutine_count() + 1);
    EXPECT_TRUE(pool.give(first));
    settle();
    EXPECT_EQ(first.runs, 1);

    Event release;
    Job waits([&](const Task&) { EXPECT_TRUE(ok(release.wait(soon()))); });
    pool.give(waits);
    settle();
    EXPECT_FALSE(pool.give(first));
    settle();
    EXPECT_EQ(first.runs, 1);
    release.set();
    settle();
    EXPECT_EQ(first.runs, 2) << "the coroutine that was busy should have done it";
}

TEST_F(CoroutinePoolTest, ThePoolMayEndWithACoroutineThatWasOnlyCalled) {
    const size_t before = coroutine_count();
    {
        CoroutinePool pool("pool");
        Job job;
        pool.give(job);
        pool.take_back(job);
    }
    EXPECT_EQ(coroutine_count(), before);
}

}  // namespace
}  // namespace runtime
