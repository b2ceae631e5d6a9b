#include "service/dvr/journal.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/loop/testing.h"

namespace service::dvr {
namespace {

using runtime::testing::ok;

std::string content(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

OpenRecording recording(const std::string& name) {
    return {{"v", "live", name}, "/r/" + name + ".flv.tmp", "/r/" + name + ".flv"};
}

class JournalTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        directory_ = std::filesystem::temp_directory_path() / ("dvr-journal-" + runtime::new_context_id());
        path_ = directory_ / "below" / "j";
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }
    std::filesystem::path directory_, path_;
};

TEST(JournalText, WhatBeganAndDidNotEndIsOpen) {
    std::string text = journal_line_open(recording("a")) + journal_line_open(recording("b")) +
                       journal_line_done(recording("a").growing) + "garbage\n+\tx\n\n" +
                       journal_line_open(recording("c"));
    EXPECT_EQ(read_journal(text), (std::vector{recording("b"), recording("c")}));
    EXPECT_EQ(read_journal(text.substr(0, text.size() - 1)), (std::vector{recording("b")})) << "an incomplete line";
    EXPECT_EQ(read_journal("").size(), 0u);
}

TEST(JournalText, AnyNameComesBack) {
    OpenRecording odd{{"v", "a/b", "100%\t\n\x01 ü"}, "/r/x%y\t.tmp", "/r/%"};
    std::string line = journal_line_open(odd);
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
    EXPECT_EQ(read_journal(line), std::vector{odd});
}

TEST_F(JournalTest, TheNextOneReadsWhatWasLeft) {
    {
        Journal journal(path_);
        EXPECT_FALSE(journal.exists());
        journal.opened(recording("a"));
        journal.opened(recording("b"));
        journal.done(recording("a").growing);
        journal.stop();
    }
    EXPECT_EQ(read_journal(content(path_)), std::vector{recording("b")});
    Journal next(path_);
    EXPECT_TRUE(next.exists());
    auto left = next.open();
    ASSERT_TRUE(ok(left));
    EXPECT_EQ(*left, std::vector{recording("b")});
    next.opened(recording("c"));
    next.done(recording("b").growing);
    next.stop();
    EXPECT_EQ(read_journal(content(path_)), std::vector{recording("c")});
}

TEST_F(JournalTest, TwoServersDoNotShareOne) {
    Journal one(path_), other(path_);
    ASSERT_TRUE(ok(one.open()));
    auto refused = other.open();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), base::Code::kBusy) << refused.error().text();
    other.opened(recording("x"));
    other.stop();
    one.opened(recording("a"));
    one.stop();
    EXPECT_EQ(read_journal(content(path_)), std::vector{recording("a")});
}

TEST_F(JournalTest, TellsWhenTheLineIsThere) {
    Journal journal(path_);
    int told = 0;
    for (const char* name : {"a", "b"}) {
        journal.opened(recording(name), [&, name] {
            ++told;
            EXPECT_TRUE(content(path_).contains(journal_line_open(recording(name)))) << content(path_);
        });
        EXPECT_EQ(told, 0);
    }
    journal.stop();
    EXPECT_EQ(told, 2);
}

TEST_F(JournalTest, TellsWhenTheLineCannotGetThere) {
    std::filesystem::create_directory(directory_);
    std::ofstream(directory_ / "below") << "not a directory";
    Journal journal(path_);
    int told = 0;
    journal.opened(recording("a"), [&] { ++told; });
    for (int i = 0; i < 500 && told == 0; ++i) ASSERT_TRUE(ok(runtime::sleep_ms(10)));
    EXPECT_EQ(told, 1);
    journal.opened(recording("b"), [&] { ++told; });
    EXPECT_EQ(told, 2) << "it has failed already";
    journal.stop();
}

TEST_F(JournalTest, StaysSmall) {
    Journal journal(path_);
    std::string long_name(200, 'x');
    journal.opened(recording("stays"));
    for (int i = 0; i < 3000; ++i) {
        OpenRecording one = recording(long_name + std::to_string(i));
        journal.opened(one);
        journal.done(one.growing);
        if (i % 100 == 0) (void)runtime::sleep_ms(1);
    }
    journal.stop();
    EXPECT_EQ(read_journal(content(path_)), std::vector{recording("stays")});
    EXPECT_LT(std::filesystem::file_size(path_), 1'000'000u) << "3000 recordings wrote some 2.5 MB of lines";
}

}  // namespace
}  // namespace service::dvr
