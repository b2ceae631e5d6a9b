#include "runtime/disk/line_journal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/disk/full_disk_testing.h"
#include "runtime/loop/testing.h"

namespace runtime {
namespace {

using testing::ok;

class LineJournalTest : public testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        directory_ = std::filesystem::temp_directory_path() / ("line-journal-" + new_context_id());
        path_ = directory_ / "below" / "j";
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }
    LineJournal::Options options() {
        return {.path = path_,
                .mode = 0600,
                .opened = [this](std::string_view text) { left_ = text; },
                .compaction = [this]() -> LineJournal::Compaction {
                    ++compactions_;
                    return [](std::string_view text) { return text.starts_with("keep\n") ? "keep\n" : ""; };
                },
                .failed = [this](const base::Error& error) { failures_ += error.text() + ";"; }};
    }
    std::string content() const {
        std::ifstream in(path_);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void write(std::string_view text) const {
        std::filesystem::create_directories(directory_ / "below");
        std::ofstream(path_) << text;
    }
    // Until the appends so far have been tried.
    static void flush(LineJournal& journal) {
        bool done = false;
        journal.append("", [&](bool) { done = true; });
        for (int i = 0; i < 2'000 && !done; ++i) ASSERT_TRUE(ok(sleep_ms(1)));
        ASSERT_TRUE(done);
    }
    std::filesystem::path directory_, path_;
    std::string left_ = "none", failures_;
    int compactions_ = 0;
};

TEST_F(LineJournalTest, ATornLineIsCutAndNotContinued) {
    write("a\nb\nhalf a li");
    LineJournal journal(options());
    ASSERT_TRUE(ok(journal.open()));
    EXPECT_EQ(left_, "a\nb\n");
    journal.append("c\n");
    journal.stop();
    EXPECT_EQ(content(), "a\nb\nc\n");
}

TEST_F(LineJournalTest, ACheckLeavesNothingBehind) {
    LineJournal journal(options());
    EXPECT_TRUE(ok(journal.check()));
    EXPECT_FALSE(std::filesystem::exists(directory_)) << "neither the file nor its directories";
    write("a\nhalf");
    EXPECT_TRUE(ok(journal.check()));
    EXPECT_EQ(content(), "a\nhalf");
    EXPECT_EQ(left_, "none");
    EXPECT_FALSE(journal.is_open());
    {
        LineJournal other(options());
        ASSERT_TRUE(ok(other.open())) << "it is not locked";
        EXPECT_TRUE(testing::failed_with(journal.check(), base::Code::kBusy));
        other.stop();
    }
    auto small = options();
    small.max_bytes = 1;
    EXPECT_TRUE(testing::failed_with(LineJournal(std::move(small)).check(), base::Code::kLimit));
    auto below_a_file = options();
    below_a_file.path = path_ / "new";
    EXPECT_TRUE(testing::failed_with(LineJournal(std::move(below_a_file)).check(), base::Code::kSystem));
}

TEST_F(LineJournalTest, WaitsForTheFileOfAnotherProcess) {
    auto of_other = std::make_unique<LineJournal>(options());
    of_other->append("keep\n");
    flush(*of_other);
    LineJournal journal(options());
    journal.await_lock();
    bool done = false;
    journal.append("early\n", [&](bool) { done = true; });
    EXPECT_TRUE(done) << "nobody waits for the other process";
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(ok(sleep_ms(1)));
    EXPECT_FALSE(journal.is_open());
    of_other->stop();
    of_other.reset();
    for (int i = 0; i < 3'000 && !journal.is_open(); ++i) ASSERT_TRUE(ok(sleep_ms(1)));
    EXPECT_EQ(left_, "keep\n");
    journal.append("late\n");
    flush(journal);
    EXPECT_EQ(content(), "keep\nlate\n");
    EXPECT_EQ(compactions_, 1);
    journal.stop();
    EXPECT_EQ(failures_, "");
}

TEST_F(LineJournalTest, EndsWhileItWaitsForAnotherProcess) {
    LineJournal of_other(options()), journal(options());
    of_other.append("a\n");
    flush(of_other);
    journal.await_lock();
    ASSERT_TRUE(ok(sleep_ms(5)));
    journal.stop();
    of_other.stop();
    EXPECT_EQ(failures_, "");
}

TEST_F(LineJournalTest, NobodyElseReadsANewFile) {
    LineJournal journal(options());
    journal.append("secret\n");
    flush(journal);
    struct stat facts {};
    ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600u);
    journal.compact();
    flush(journal);
    ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600u) << "also of the file that replaced it";
    EXPECT_EQ(compactions_, 1);
    journal.stop();
}

TEST_F(LineJournalTest, IsReplacedWhenItHasGrownByItsOwnSize) {
    LineJournal journal(options());
    journal.append("keep\n");
    flush(journal);
    for (int i = 0; i < 40; ++i) {
        journal.append(std::string(16'383, 'x') + "\n");
        flush(journal);
    }
    EXPECT_EQ(compactions_, 2) << "above each 256 kB";
    EXPECT_LT(std::filesystem::file_size(path_), 400'000u);
    EXPECT_TRUE(content().starts_with("keep\n"));
    journal.stop();
}

TEST_F(LineJournalTest, AFullDiskCostsTheLinesThatDoNotFitAndNoOthers) {
    auto whole = options();
    whole.compaction = [this]() -> LineJournal::Compaction {
        ++compactions_;
        return [](std::string_view text) { return std::string(text); };
    };
    LineJournal journal(whole);
    journal.append("a\n");
    flush(journal);
    {
        const testing::FullDisk full(1'000);
        std::string told;
        const auto tell = [&](bool is_written) {
            told += is_written ? "written " : "lost ";
            EXPECT_GE(journal.lost(), 1u) << "the error is counted and known before: " << told;
            EXPECT_NE(failures_, "") << told;
        };
        journal.append(std::string(2'000, 'x') + "\n", tell);
        flush(journal);
        EXPECT_EQ(compactions_, 0);
        journal.append("b\n", tell);
        flush(journal);
        EXPECT_EQ(told, "lost written ");
    }
    for (int i = 0; i < 2'000 && compactions_ == 0; ++i) ASSERT_TRUE(ok(sleep_ms(1)));
    EXPECT_EQ(compactions_, 1) << "what the lost line said may be that something is done";
    EXPECT_EQ(content(), "a\nb\n");
    EXPECT_NE(failures_, "");
    EXPECT_GE(journal.lost(), 1u);
    const uint64_t lost = journal.lost();
    journal.append("c\n");
    journal.stop();
    EXPECT_EQ(content(), "a\nb\nc\n");
    EXPECT_EQ(journal.lost(), lost);
}

TEST_F(LineJournalTest, AFileThatCannotBeReplacedIsTriedAgainAtTheEnd) {
    LineJournal journal(options());
    journal.append("keep\nno more\n");
    flush(journal);
    const std::filesystem::path blocker = path_.string() + ".new";
    std::filesystem::create_directory(blocker);
    journal.compact();
    for (int i = 0; i < 2'000 && compactions_ == 0; ++i) ASSERT_TRUE(ok(sleep_ms(1)));
    for (int i = 0; i < 5; ++i) {
        journal.append("keep\n");
        flush(journal);
    }
    EXPECT_EQ(compactions_, 1) << "not with each line";
    EXPECT_EQ(failures_, "") << "no line is lost by it";
    std::filesystem::remove(blocker);
    journal.append("end\n");
    journal.stop();
    EXPECT_EQ(compactions_, 2);
    EXPECT_EQ(content(), "keep\n");
}

TEST_F(LineJournalTest, WhatWaitsForTheDiskIsBounded) {
    auto limited = options();
    limited.max_pending_bytes = 10;
    LineJournal journal(limited);
    journal.append("keep\n");
    bool told = false;
    journal.append("no room\n", [&](bool is_written) { told = !is_written; });
    EXPECT_TRUE(told) << "there is no room";
    EXPECT_EQ(journal.lost(), 1u);
    journal.stop();
    EXPECT_EQ(content(), "keep\n");
}

TEST_F(LineJournalTest, AFileThatIsTooLargeIsLeftAlone) {
    write("12345678\n");
    auto limited = options();
    limited.max_bytes = 8;
    LineJournal journal(limited);
    EXPECT_TRUE(testing::failed_with(journal.open(), base::Code::kLimit));
    journal.append("a\n");
    journal.stop();
    EXPECT_EQ(content(), "12345678\n");
    EXPECT_EQ(journal.lost(), 1u);
}

}  // namespace
}  // namespace runtime
