#include "service/accounts/line_file.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/loop/random.h"
#include "runtime/loop/testing.h"

namespace service::accounts {
namespace {

std::string content(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

class LineFileTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        directory_ = std::filesystem::temp_directory_path() / ("lines-" + runtime::new_context_id());
        path_ = directory_ / "below" / "access.log";
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }
    // Until the file has been written to that often.
    static void await_written(const LineFile& file, uint64_t lines) {
        for (int i = 0; i < 500 && file.counters().written < lines; ++i) (void)runtime::sleep_ms(10);
        ASSERT_EQ(file.counters().written, lines);
    }
    std::filesystem::path directory_, path_;
};

TEST_F(LineFileTest, WritesWhatWasAdded) {
    LineFile file("test");
    file.add("before it has a path");
    file.set_path(path_);
    for (int i = 0; i < 1000; ++i) file.add(std::to_string(i));
    EXPECT_FALSE(std::filesystem::exists(path_)) << "add() does not write";
    file.stop();
    std::string expected;
    for (int i = 0; i < 1000; ++i) expected += std::to_string(i) + "\n";
    EXPECT_EQ(content(path_), expected);
    EXPECT_EQ(file.counters().written, 1000u);
    EXPECT_EQ(file.counters().dropped, 0u);
}

TEST_F(LineFileTest, AFileThatWasRenamedIsMadeAgain) {
    LineFile file("test");
    file.set_path(path_);
    file.add("one");
    await_written(file, 1);
    std::filesystem::rename(path_, path_.string() + ".1");
    file.add("two");
    await_written(file, 2);
    std::filesystem::remove(path_);
    file.add("three");
    file.stop();
    EXPECT_EQ(content(path_.string() + ".1"), "one\n");
    EXPECT_EQ(content(path_), "three\n");
}

TEST_F(LineFileTest, AddsToWhatIsThereAndFollowsAnotherPath) {
    std::filesystem::create_directories(path_.parent_path());
    std::ofstream(path_) << "zero\n";
    LineFile file("test");
    file.set_path(path_);
    file.add("one");
    await_written(file, 1);
    file.set_path(path_.string() + "-2");
    file.add("two");
    await_written(file, 2);
    file.set_path("");
    file.add("nobody wants it");
    file.stop();
    EXPECT_EQ(content(path_), "zero\none\n");
    EXPECT_EQ(content(path_.string() + "-2"), "two\n");
    EXPECT_EQ(file.counters().dropped, 0u);
}

TEST_F(LineFileTest, LinesWaitForTheDiskWithinABound) {
    std::filesystem::create_directories(directory_);
    const auto blocked = directory_ / "file" / "access.log";
    std::ofstream(directory_ / "file") << "no directory";
    LineFile file("test");
    file.set_path(blocked);
    const std::string line(1023, 'x');
    constexpr size_t kFit = LineFile::kMaxWaiting / 1024;
    for (size_t i = 0; i < kFit + 50; ++i) file.add(line);
    EXPECT_EQ(file.counters().dropped, 50u);
    EXPECT_EQ(file.waiting_bytes(), LineFile::kMaxWaiting);
    (void)runtime::sleep_ms(LineFile::kBatchMs + 100);
    EXPECT_EQ(file.counters().written, 0u);
    file.add(line);
    EXPECT_EQ(file.counters().dropped, 51u) << "what is tried again counts as waiting";
    std::filesystem::remove(directory_ / "file");
    await_written(file, kFit);
    EXPECT_EQ(file.waiting_bytes(), 0u);
    file.add("there is room");
    file.stop();
    EXPECT_EQ(content(blocked).size(), LineFile::kMaxWaiting + 14);
}

TEST_F(LineFileTest, APartThatWasWrittenIsNotWrittenAgain) {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    LineFile file("test");
    file.set_path(path_);
    rlimit small = before;
    small.rlim_cur = 100;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    std::string expected;
    for (int i = 0; i < 100; ++i) {
        file.add("line " + std::to_string(i));
        expected += "line " + std::to_string(i) + "\n";
    }
    for (int i = 0; i < 200 && content(path_).size() < 100; ++i) (void)runtime::sleep_ms(10);
    EXPECT_EQ(content(path_).size(), 100u);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    await_written(file, 100);
    file.stop();
    EXPECT_EQ(content(path_), expected);
}

TEST_F(LineFileTest, WhatCannotBeWrittenIsCountedAtTheEnd) {
    std::filesystem::create_directories(directory_);
    std::ofstream(directory_ / "file") << "no directory";
    LineFile file("test");
    file.set_path(directory_ / "file" / "x");
    file.add("one");
    file.add("two");
    file.stop();
    EXPECT_EQ(file.counters().dropped, 2u);
}

}  // namespace
}  // namespace service::accounts
