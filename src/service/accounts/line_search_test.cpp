#include "service/accounts/line_search.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace service::accounts {
namespace {

std::vector<std::string> backwards(const std::string& text, size_t most = 1000) {
    std::vector<std::string> lines;
    const auto read = [&](uint64_t offset, std::span<uint8_t> buffer) -> base::Result<size_t> {
        std::copy_n(text.data() + offset, buffer.size(), reinterpret_cast<char*>(buffer.data()));
        return buffer.size();
    };
    EXPECT_TRUE(visit_lines_backwards(text.size(), read, [&](std::string_view line) {
        lines.emplace_back(line);
        return lines.size() < most;
    }));
    return lines;
}

using Lines = std::vector<std::string>;

TEST(LineSearch, ReadsLinesFromTheEnd) {
    EXPECT_EQ(backwards(""), Lines());
    EXPECT_EQ(backwards("no end"), Lines());
    EXPECT_EQ(backwards("a\n"), Lines{"a"});
    EXPECT_EQ(backwards("a\nb\n\nc\nrest"), (Lines{"c", "b", "a"}));
    EXPECT_EQ(backwards("a\nb\nc\n", 2), (Lines{"c", "b"}));
}

TEST(LineSearch, LinesGoOverTheEndsOfChunks) {
    Lines expected;
    std::string text;
    for (size_t i = 0; text.size() < 3 * LineSearch::kChunkBytes; ++i) {
        expected.push_back(std::to_string(i) + std::string(i % 700, 'x'));
        text += expected.back() + "\n";
    }
    std::ranges::reverse(expected);
    EXPECT_EQ(backwards(text, 1'000'000), expected);
}

TEST(LineSearch, LeavesOutLinesThatAreTooLong) {
    const std::string longest(LineSearch::kMaxLine, 'x');
    EXPECT_EQ(backwards("a\n" + longest + "\nb\n"), (Lines{"b", longest, "a"}));
    EXPECT_EQ(backwards("a\n" + longest + "x\nb\n"), (Lines{"b", "a"}));
    EXPECT_EQ(backwards("a\n" + std::string(3 * LineSearch::kChunkBytes, 'x') + "\nb\n"), (Lines{"b", "a"}));
    EXPECT_EQ(backwards(std::string(3 * LineSearch::kChunkBytes, 'x')), Lines());
}

class FindLines : public ::testing::Test {
  protected:
    void SetUp() override {
        path_ = std::filesystem::temp_directory_path() / ("search-" + std::to_string(getpid()));
        write(path_, 100, 200);
        write(path_.string() + ".1", 0, 100);
    }
    void TearDown() override {
        std::filesystem::remove(path_);
        std::filesystem::remove(path_.string() + ".1");
    }
    static std::string line(int i) {
        return "{\"stream\":\"" + std::string(i % 2 ? "odd" : "even") + "\",\"ended_ms\":" + std::to_string(1000 + i) +
               "}";
    }
    static void write(const std::filesystem::path& path, int from, int to) {
        std::ofstream file(path);
        for (int i = from; i < to; ++i) file << line(i) << "\n";
    }
    FoundLines find(LineSearch search) {
        search.paths = {path_, path_.string() + ".1", path_.string() + ".2"};
        auto found = find_lines(search);
        EXPECT_TRUE(found);
        return found ? *found : FoundLines();
    }
    std::filesystem::path path_;
};

TEST_F(FindLines, InAllFiles) {
    const FoundLines all = find({.from_ms = 0, .to_ms = 10'000, .max_lines = 1000});
    EXPECT_EQ(all.lines.size(), 200u);
    EXPECT_TRUE(all.complete);
    EXPECT_EQ(all.lines.front(), line(199));
    EXPECT_EQ(all.lines.back(), line(0));
}

TEST_F(FindLines, OfATimeWithATextInThem) {
    const FoundLines some = find({.from_ms = 1095, .to_ms = 1104, .texts = {"odd"}, .max_lines = 1000});
    EXPECT_EQ(some.lines, (Lines{line(103), line(101), line(99), line(97), line(95)}));
    EXPECT_TRUE(some.complete);
}

TEST_F(FindLines, WithinLimits) {
    const FoundLines few = find({.from_ms = 0, .to_ms = 10'000, .max_lines = 3});
    EXPECT_EQ(few.lines, (Lines{line(199), line(198), line(197)}));
    EXPECT_FALSE(few.complete);
    const FoundLines none = find({.from_ms = 0, .to_ms = 10'000, .max_lines = 1000, .max_bytes = 10});
    EXPECT_TRUE(none.lines.empty());
    EXPECT_FALSE(none.complete);
}

}  // namespace
}  // namespace service::accounts
