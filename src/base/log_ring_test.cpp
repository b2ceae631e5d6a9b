#include "base/log_ring.h"

#include <gtest/gtest.h>

#include <thread>

namespace base::log {
namespace {

std::string texts(const Ring::Page& page) {
    std::string out;
    for (const Ring::Line& line : page.lines) out += line.text + " ";
    return out;
}

void fill(Ring& ring, int from, int to) {
    for (int i = from; i <= to; ++i)
        ring.add(i % 2 ? Level::kTrace : Level::kWarn, "id" + std::to_string(i), "L" + std::to_string(i), 1'000 + i);
}

TEST(LogRing, TailByNumbers) {
    Ring ring;
    EXPECT_EQ(ring.read({}).next, 0u);
    fill(ring, 1, 5);
    Ring::Page page = ring.read({.count = 2});
    EXPECT_EQ(texts(page), "L4 L5 ") << "the newest, the oldest of them first";
    EXPECT_EQ(page.next, 5u);
    EXPECT_EQ(page.lines[0].seq, 4u);
    EXPECT_EQ(page.lines[0].time_ms, 1'004);
    EXPECT_EQ(page.lines[0].id, "id4");
    EXPECT_EQ(page.lines[0].level, Level::kWarn);
    EXPECT_EQ(texts(ring.read({.after = 5})), "");
    fill(ring, 6, 9);
    page = ring.read({.after = 5, .count = 3});
    EXPECT_EQ(texts(page), "L6 L7 L8 ") << "none is skipped";
    EXPECT_EQ(page.next, 8u);
    page = ring.read({.after = page.next, .count = 3});
    EXPECT_EQ(texts(page), "L9 ");
    EXPECT_EQ(page.next, 9u);
    EXPECT_EQ(texts(ring.read({.after = 1'000, .count = 1})), "L9 ") << "the number of an earlier run";
}

TEST(LogRing, ByLevelAndText) {
    Ring ring;
    fill(ring, 1, 6);
    Ring::Page page = ring.read({.level = Level::kWarn, .count = 2});
    EXPECT_EQ(texts(page), "L4 L6 ");
    page = ring.read({.after = 2, .level = Level::kWarn, .count = 1});
    EXPECT_EQ(texts(page), "L4 ");
    EXPECT_EQ(page.next, 4u);
    EXPECT_EQ(texts(ring.read({.level = Level::kError})), "");
    EXPECT_EQ(texts(ring.read({.search = "l3"})), "L3 ");
    EXPECT_EQ(texts(ring.read({.search = "id5"})), "L5 ");
    EXPECT_EQ(texts(ring.read({.after = 1, .search = "nothing"})), "");
    const auto is_even = [](const Ring::Line& line) { return line.seq % 2 == 0; };
    EXPECT_EQ(texts(ring.read({.count = 2, .filter = is_even})), "L4 L6 ");
    EXPECT_EQ(texts(ring.read({.after = 2, .search = "l4", .filter = is_even})), "L4 ");
    EXPECT_EQ(texts(ring.read({.after = 2, .search = "l5", .filter = is_even})), "");
}

TEST(LogRing, IsBoundedByLinesAndBytes) {
    Ring few({.lines = 3, .bytes = 1'000});
    fill(few, 1, 9);
    EXPECT_EQ(texts(few.read({})), "L7 L8 L9 ");
    EXPECT_EQ(texts(few.read({.after = 2})), "L7 L8 L9 ") << "what has left is left out";
    Ring small({.lines = 100, .bytes = 100});
    for (int i = 0; i < 10; ++i) small.add(Level::kTrace, "", std::string(30, static_cast<char>('a' + i)), 0);
    EXPECT_EQ(small.read({}).lines.size(), 3u);
    small.add(Level::kTrace, "", std::string(5'000, 'x'), 0);
    const auto page = small.read({});
    ASSERT_FALSE(page.lines.empty());
    EXPECT_EQ(page.lines.back().text, std::string(50, 'x')) << "cut";
    size_t bytes = 0;
    for (const Ring::Line& line : page.lines) bytes += line.bytes();
    EXPECT_LE(bytes, 100u);
}

TEST(LogRing, IsThreadSafe) {
    Ring ring({.lines = 50, .bytes = 5'000});
    std::vector<std::thread> writers;
    for (int i = 0; i < 3; ++i) writers.emplace_back([&ring] { fill(ring, 1, 2'000); });
    uint64_t last = 0;
    for (int i = 0; i < 500; ++i) {
        const auto page = ring.read({.after = last, .count = 10});
        for (const Ring::Line& line : page.lines) {
            EXPECT_GT(line.seq, last);
            last = line.seq;
        }
    }
    for (std::thread& writer : writers) writer.join();
    EXPECT_EQ(ring.read({}).next, 6'000u);
}

}  // namespace
}  // namespace base::log
