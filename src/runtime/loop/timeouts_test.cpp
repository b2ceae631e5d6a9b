#include "runtime/loop/timeouts.h"

#include <memory>
#include <random>
#include <vector>

#include "runtime/loop/coroutine.h"
#include "runtime/loop/coroutine_state.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace runtime {
namespace {

// One coroutine that waits for an event again and again, each time for `ms`, and notes when it was late.
struct Waiter {
    explicit Waiter(int64_t first_ms) : ms(first_ms) {
        task = spawn("waiter", [this] {
            while (true) {
                auto waited = event.wait_next(ms < 0 ? Deadline::never() : Deadline::in_ms(ms));
                if (!waited && waited.error().code() == base::Code::kCancelled) return;
                ++(waited ? woken : late);
                at_ms = now_ms();
            }
        });
    }
    ~Waiter() { task.cancel_and_join(); }

    int64_t ms;
    Event event;
    int woken = 0;
    int late = 0;
    int64_t at_ms = 0;
    Task task;
};

// What earlier tests left behind has gone after an hour, or waits for ever.
class TimeoutsTest : public testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        testing::SimulatedTime().pass_ms(3'600'000);
    }
};

size_t entries() { return detail::timeouts().size(); }

TEST_F(TimeoutsTest, AWaitThatIsNotEndedIsLateAtItsDeadline) {
    testing::SimulatedTime time;
    const int64_t began_ms = now_ms();
    Waiter waiter(5000);
    time.pass_ms(4999);
    EXPECT_EQ(waiter.late, 0);
    time.pass_ms(1);
    EXPECT_EQ(waiter.late, 1);
    EXPECT_EQ(waiter.at_ms, began_ms + 5000);
}

TEST_F(TimeoutsTest, TheEntryStaysWhileTheCoroutineIsWokenAndWaitsAgain) {
    testing::SimulatedTime time;
    const size_t before = entries();
    Waiter waiter(5000);
    for (int i = 0; i < 100; ++i) {
        time.pass_ms(130);
        waiter.event.pulse();
        time.settle();
        EXPECT_EQ(entries(), before + 1);
    }
    EXPECT_EQ(waiter.woken, 100);
    EXPECT_EQ(waiter.late, 0);
    time.pass_ms(4999);
    EXPECT_EQ(waiter.late, 0);
    time.pass_ms(1);
    EXPECT_EQ(waiter.late, 1);
}

TEST_F(TimeoutsTest, AnEarlierDeadlineComesFirst) {
    testing::SimulatedTime time;
    Waiter waiter(60'000);
    Waiter other(30'000);
    time.settle();
    waiter.ms = 2000;
    waiter.event.pulse();
    time.pass_ms(2000);
    EXPECT_EQ(waiter.late, 1);
    EXPECT_EQ(other.late, 0);
}

TEST_F(TimeoutsTest, OtherWaitsInBetweenAreNotDisturbed) {
    testing::SimulatedTime time;
    Waiter waiter(3000);
    time.settle();
    // The entry of the first wait comes due within a wait without a deadline, and within one with a close deadline.
    waiter.ms = -1;
    waiter.event.pulse();
    time.pass_ms(4000);
    EXPECT_EQ(waiter.woken, 1);
    EXPECT_EQ(waiter.late, 0);
    waiter.ms = 1500;
    waiter.event.pulse();
    time.pass_ms(1000);
    waiter.ms = 900;
    waiter.event.pulse();
    time.pass_ms(899);
    EXPECT_EQ(waiter.woken, 3);
    EXPECT_EQ(waiter.late, 0);
    time.pass_ms(1);
    EXPECT_EQ(waiter.late, 1);
}

TEST_F(TimeoutsTest, ACoroutineThatEndsLeavesNoEntry) {
    testing::SimulatedTime time;
    const size_t before = entries();
    {
        std::vector<std::unique_ptr<Waiter>> waiters;
        for (int i = 0; i < 50; ++i) waiters.push_back(std::make_unique<Waiter>(2000 + 37 * (i % 7)));
        time.settle();
        EXPECT_EQ(entries(), before + 50);
        for (size_t i = 0; i < waiters.size(); i += 2) waiters[i].reset();
        EXPECT_EQ(entries(), before + 25);
        time.pass_ms(2000 + 37 * 7);
        for (size_t i = 1; i < waiters.size(); i += 2) EXPECT_EQ(waiters[i]->late, 1) << i;
    }
    EXPECT_EQ(entries(), before);
}

// Against the obvious: each of 200 coroutines is late exactly when nothing woke it for as long as it waits.
TEST_F(TimeoutsTest, ManyWaitsOfAllLengths) {
    testing::SimulatedTime time;
    std::mt19937 random(1);
    const auto below = [&](int most) { return static_cast<int64_t>(random() % static_cast<unsigned>(most)); };
    std::vector<std::unique_ptr<Waiter>> waiters;
    std::vector<int64_t> due, late;
    const auto new_length = [&]() -> int64_t { return below(10) ? 20 * (1 + below(300)) : -1; };
    const auto due_after = [](int64_t ms) { return ms < 0 ? INT64_MAX : now_ms() + ms; };
    for (int i = 0; i < 200; ++i) {
        waiters.push_back(std::make_unique<Waiter>(new_length()));
        due.push_back(due_after(waiters.back()->ms));
        late.push_back(0);
    }
    time.settle();
    for (int step = 0; step < 2000; ++step) {
        time.pass_ms(10);
        for (size_t i = 0; i < waiters.size(); ++i) {
            if (due[i] <= now_ms()) {
                ++late[i];
                due[i] = due_after(waiters[i]->ms);
            }
            ASSERT_EQ(waiters[i]->late, late[i]) << i << " at step " << step;
            if (below(20)) continue;
            waiters[i]->ms = new_length();
            waiters[i]->event.pulse();
            due[i] = due_after(waiters[i]->ms);
        }
        time.settle();
    }
    int64_t all = 0;
    for (const int64_t one : late) all += one;
    EXPECT_GT(all, 1000);
}

}  // namespace
}  // namespace runtime
