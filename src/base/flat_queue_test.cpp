#include "base/flat_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

namespace base {
namespace {

TEST(FlatQueue, IsAQueue) {
    FlatQueue<int> queue;
    std::deque<int> model;
    int next = 0;
    for (int step = 0; step < 20'000; ++step) {
        // Phases in which it grows, and phases in which it shrinks to nothing.
        const bool grows = step / 700 % 2 == 0 ? step % 3 != 0 : step % 3 == 0;
        if (grows) {
            queue.push_back(next);
            model.push_back(next++);
        } else if (!model.empty()) {
            queue.pop_front();
            model.pop_front();
        }
        ASSERT_EQ(queue.size(), model.size());
        ASSERT_EQ(queue.empty(), model.empty());
        if (model.empty()) continue;
        ASSERT_EQ(queue.front(), model.front());
        ASSERT_EQ(queue.back(), model.back());
        ASSERT_EQ(queue[model.size() / 2], model[model.size() / 2]);
        ASSERT_TRUE(step % 100 != 0 || std::equal(queue.begin(), queue.end(), model.begin(), model.end()));
    }
}

TEST(FlatQueue, ReleasesWhatIsPopped) {
    FlatQueue<std::shared_ptr<int>> queue;
    auto held = std::make_shared<int>(7);
    for (int i = 0; i < 3; ++i) queue.push_back(held);
    queue.pop_front();
    EXPECT_EQ(held.use_count(), 3);
    queue.clear();
    EXPECT_EQ(held.use_count(), 1);
}

TEST(FlatQueue, KeepsTheMemoryThatItNeedsAgain) {
    FlatQueue<int> queue;
    const auto fill = [&](int items) {
        for (int i = 0; i < items; ++i) queue.push_back(i);
    };
    fill(1000);
    const int* address = &queue.front();
    queue.clear();
    fill(900);
    EXPECT_EQ(&queue.front(), address);
    queue.clear();
    fill(10);
    queue.clear();
    EXPECT_EQ(queue.memory(), 0u) << "a hundredth of it was used";
}

// At any number of items: the GOPs of thousands of streams are such queues.
TEST(FlatQueue, LittleOfItsMemoryIsUnused) {
    FlatQueue<int> queue;
    for (size_t items = 1; items <= 2000; ++items) {
        queue.push_back(0);
        ASSERT_LE(queue.memory() / sizeof(int), items + items / 4 + 16) << items << " items";
    }
}

}  // namespace
}  // namespace base
