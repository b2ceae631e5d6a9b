#include "runtime/loop/task_list.h"

#include <gtest/gtest.h>

#include "runtime/loop/current_error.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace runtime {
namespace {

class TaskListTest : public testing::RuntimeTest {
  protected:
    struct Sleeper {
        Task task;
        Task coroutine() const { return task; }
    };
    Sleeper& add(int64_t ms) {
        Sleeper& added = list_.add(std::make_unique<Sleeper>());
        added.task = spawn("sleeper", [this, &added, ms] {
            if (!sleep_ms(ms)) ++cancelled_;
            ended_ += ms;
            (void)list_.take(added);
        });
        return added;
    }

    TaskList<Sleeper> list_{"the last sleeper"};
    int cancelled_ = 0;
    int64_t ended_ = 0;
};

TEST_F(TaskListTest, IsEmptyWhenAllHaveEnded) {
    testing::SimulatedTime time;
    add(10);
    add(20);
    EXPECT_EQ(list_.size(), 2u);
    bool is_over = false;
    Task waiting = spawn("waiting", [&] {
        list_.wait_empty(Deadline::never());
        is_over = true;
    });
    time.pass_ms(15);
    EXPECT_EQ(list_.size(), 1u);
    EXPECT_FALSE(is_over);
    time.pass_ms(10);
    EXPECT_TRUE(is_over);
    EXPECT_EQ(ended_, 30);
}

TEST_F(TaskListTest, TheWaitHasALimit) {
    testing::SimulatedTime time;
    add(100);
    bool is_over = false;
    Task waiting = spawn("waiting", [&] {
        list_.wait_empty(Deadline::in_ms(50));
        is_over = true;
    });
    time.pass_ms(60);
    EXPECT_TRUE(is_over);
    EXPECT_EQ(list_.size(), 1u);
    time.pass_ms(60);
    EXPECT_TRUE(list_.empty());
}

TEST_F(TaskListTest, CancelsAllAndWaitsEvenIfCancelled) {
    for (int i = 0; i < 3; ++i) add(1'000'000);
    Task stopping = spawn("stopping", [&] { list_.cancel_and_join(); });
    stopping.cancel();
    ASSERT_TRUE(stopping.join(Deadline::in_ms(5'000)));
    EXPECT_TRUE(list_.empty());
    EXPECT_EQ(cancelled_, 3);
}

class CurrentErrorTest : public testing::RuntimeTest {};

TEST_F(CurrentErrorTest, ChangesWithItsText) {
    CurrentError error;
    EXPECT_FALSE(error.clear());
    EXPECT_TRUE(error.update("refused"));
    EXPECT_FALSE(error.update("refused"));
    EXPECT_TRUE(error.update("no answer"));
    EXPECT_EQ(error.text(), "no answer");
    EXPECT_TRUE(error.clear());
    EXPECT_TRUE(error.empty());
    EXPECT_TRUE(error.update("no answer")) << "it works in between";
}

TEST_F(CurrentErrorTest, OneThatChangesEachTimeIsLoggedOnceAMinute) {
    testing::SimulatedTime time;
    CurrentError error;
    const auto lines_in = [&](int64_t ms) {
        int lines = 0;
        for (int64_t passed = 0; passed < ms; passed += 1'000) {
            lines += error.update(passed % 2'000 == 0 ? "refused" : "no answer") ? 1 : 0;
            time.pass_ms(1'000);
        }
        return lines;
    };
    EXPECT_EQ(lines_in(20'000), CurrentError::kBurst);
    EXPECT_LE(lines_in(600'000), 10);
    EXPECT_EQ(error.text(), "no answer") << "the text is that of the last attempt";
    error.update("at last the same");
    time.pass_ms(CurrentError::kIntervalMs);
    EXPECT_TRUE(error.update("at last the same")) << "what was left out is logged later";
    EXPECT_FALSE(error.update("at last the same"));
}

}  // namespace
}  // namespace runtime
