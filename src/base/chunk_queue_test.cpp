#include "base/chunk_queue.h"

#include <gtest/gtest.h>

#include <deque>

namespace base {
namespace {

// The same operations on a std::deque.
struct Both {
    void push(int value) {
        queue.push_back(value);
        plain.push_back(value);
    }
    void pop() {
        queue.pop_front();
        plain.pop_front();
    }
    void expect_same() const {
        ASSERT_EQ(queue.size(), plain.size());
        ASSERT_EQ(queue.empty(), plain.empty());
        for (size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(queue[i], plain[i]) << "at " << i;
        if (plain.empty()) return;
        ASSERT_EQ(queue.front(), plain.front());
        ASSERT_EQ(queue.back(), plain.back());
    }
    ChunkQueue<int, 4> queue;
    std::deque<int> plain;
};

TEST(ChunkQueue, IsAQueue) {
    Both both;
    int next = 0;
    for (int rounds = 1; rounds < 40; ++rounds) {
        for (int i = 0; i < rounds * 7 % 23; ++i) both.push(next++);
        both.expect_same();
        for (int i = 0; i < rounds * 5 % 19 && !both.plain.empty(); ++i) {
            both.pop();
            both.expect_same();
        }
    }
    while (!both.plain.empty()) both.pop();
    both.expect_same();
}

TEST(ChunkQueue, ItemsDoNotMove) {
    ChunkQueue<int, 4> queue;
    queue.push_back(1);
    const int* first = &queue.front();
    for (int i = 0; i < 1000; ++i) queue.push_back(i);
    EXPECT_EQ(&queue.front(), first);
}

// Popping a million items moves as many pointers as there are chunks, not their square.
TEST(ChunkQueue, PoppingTakesConstantTime) {
    constexpr int kItems = 1 << 20;
    ChunkQueue<int, 1> queue;
    for (int i = 0; i < kItems; ++i) queue.push_back(i);
    for (int i = 0; i < kItems; ++i) {
        ASSERT_EQ(queue.front(), i);
        queue.pop_front();
    }
    EXPECT_TRUE(queue.empty());
}

TEST(ChunkQueue, AnEmptiedQueueKeepsOneChunk) {
    ChunkQueue<int, 4> queue;
    EXPECT_EQ(queue.memory(), 0u);
    for (int i = 0; i < 1000; ++i) queue.push_back(i);
    EXPECT_GE(queue.memory(), 1000 * sizeof(int));
    while (!queue.empty()) queue.pop_front();
    const size_t kept = queue.memory();
    for (int i = 0; i < 100; ++i) {
        queue.push_back(i);
        queue.pop_front();
        EXPECT_EQ(queue.memory(), kept);
    }
}

TEST(ChunkQueue, PartitionPoint) {
    ChunkQueue<int, 4> queue;
    EXPECT_EQ(queue.partition_point([](int) { return true; }), 0u);
    for (int i = 0; i < 30; ++i) queue.push_back(i);
    for (int i = 0; i < 7; ++i) queue.pop_front();
    for (int limit : {0, 7, 8, 15, 29, 30})
        EXPECT_EQ(queue.partition_point([&](int value) { return value < limit; }),
                  static_cast<size_t>(std::max(0, limit - 7)));
}

}  // namespace
}  // namespace base
