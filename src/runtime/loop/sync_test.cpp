#include "runtime/loop/sync.h"

#include <algorithm>
#include <vector>

#include "runtime/loop/testing.h"
#include "runtime/socket/stream_testing.h"

namespace runtime {
namespace {

using base::Code;
using testing::failed_with;
using testing::ok;
using testing::soon;

class SyncTest : public testing::RuntimeTest {};

TEST_F(SyncTest, EventWakesAllAndStaysSet) {
    Event event;
    int woken = 0;
    std::vector<Task> tasks;
    for (int i = 0; i < 3; ++i) {
        tasks.push_back(spawn("waiter", [&] {
            EXPECT_TRUE(ok(event.wait(soon())));
            ++woken;
        }));
    }
    ASSERT_TRUE(ok(yield()));
    EXPECT_EQ(woken, 0);
    event.set();
    for (auto& task : tasks) EXPECT_TRUE(ok(task.join(soon())));
    EXPECT_EQ(woken, 3);
    EXPECT_TRUE(ok(event.wait(soon())));
    event.reset();
    EXPECT_TRUE(failed_with(event.wait(Deadline::in_ms(5)), Code::kTimeout));
}

TEST_F(SyncTest, EachWaiterWakesTheNextOneAndNoneIsForgotten) {
    Event event;
    std::vector<int> order;
    std::vector<Task> tasks;
    for (int i = 0; i < 5; ++i) {
        tasks.push_back(spawn("waiter", [&, i] {
            // The last one's time is over before its turn.
            if (!event.wait(i == 4 ? Deadline::in_ms(20) : soon())) return;
            order.push_back(i);
            EXPECT_TRUE(ok(sleep_ms(10)));
            event.wake_next();
        }));
    }
    ASSERT_TRUE(ok(yield()));
    event.set_and_wake_one();
    ASSERT_TRUE(ok(yield()));
    EXPECT_EQ(order, std::vector<int>{0}) << "one is woken";
    tasks[1].cancel_and_join();  // it waits for its turn
    for (auto& task : tasks) EXPECT_TRUE(ok(task.join(soon())));
    std::ranges::sort(order);
    EXPECT_EQ(order, (std::vector<int>{0, 2, 3, 4}));
}

TEST_F(SyncTest, PulseWakesOnlyThoseWhoWaitForTheNext) {
    Event event;
    bool first = false;
    auto task = spawn("waiter", [&] {
        EXPECT_TRUE(ok(event.wait_next(soon())));
        first = true;
        EXPECT_TRUE(failed_with(event.wait_next(Deadline::in_ms(5)), Code::kTimeout));
    });
    ASSERT_TRUE(ok(yield()));
    event.pulse();
    EXPECT_TRUE(ok(task.join(soon())));
    EXPECT_TRUE(first);
    EXPECT_FALSE(event.is_set());
}

TEST_F(SyncTest, SetAndResetBeforeTheWaiterRunsStillWakesItsWait) {
    Event event;
    auto task = spawn("waiter", [&] { EXPECT_TRUE(ok(event.wait_next(soon()))); });
    ASSERT_TRUE(ok(yield()));
    event.set();
    event.reset();
    EXPECT_TRUE(ok(task.join(soon())));
}

TEST_F(SyncTest, CancelledInEveryWait) {
    Event event;
    WaitGroup group;
    auto member = group.enter();
    std::vector<std::pair<const char*, std::move_only_function<bool()>>> calls;
    const auto is_cancelled = [](const auto& result) { return !result && result.error().code() == Code::kCancelled; };
    auto forever = spawn("forever", [&] { static_cast<void>(event.wait(Deadline::never())); });
    calls.emplace_back("wait", [&] { return is_cancelled(event.wait(soon())); });
    calls.emplace_back("wait_next", [&] { return is_cancelled(event.wait_next(soon())); });
    calls.emplace_back("wait_empty", [&] { return is_cancelled(group.wait_empty(soon())); });
    calls.emplace_back("sleep", [&] { return is_cancelled(sleep_ms(5000)); });
    calls.emplace_back("join", [&] { return is_cancelled(forever.join(soon())); });
    for (auto& [name, call] : calls) {
        bool right = false;
        auto task = spawn(name, [&] { right = call(); });
        ASSERT_TRUE(ok(sleep_ms(2)));
        EXPECT_FALSE(task.done()) << name;
        task.cancel_and_join();
        EXPECT_TRUE(right) << name;
    }
    forever.cancel_and_join();
}

TEST_F(SyncTest, WaitGroupWaitsForTheLast) {
    WaitGroup group;
    EXPECT_TRUE(ok(group.wait_empty(soon())));
    for (int i = 1; i <= 3; ++i) {
        spawn("inside", [i, member = group.enter()] { EXPECT_TRUE(ok(sleep_ms(i * 3))); });
    }
    EXPECT_EQ(group.inside(), 3u);
    EXPECT_TRUE(failed_with(group.wait_empty(Deadline::in_ms(4)), Code::kTimeout));
    EXPECT_TRUE(ok(group.wait_empty(soon())));
    EXPECT_EQ(group.inside(), 0u);
}

}  // namespace
}  // namespace runtime
