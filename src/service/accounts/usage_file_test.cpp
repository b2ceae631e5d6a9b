#include "service/accounts/usage_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/loop/random.h"
#include "runtime/loop/testing.h"

namespace service::accounts {
namespace {

using runtime::testing::ok;

net::UsageKey key_of(const std::string& name) { return {20261129, {"v", "live", name}, ""}; }

class UsageFileTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        directory_ = std::filesystem::temp_directory_path() / ("usage-" + runtime::new_context_id());
        path_ = directory_ / "below" / "usage.txt";
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }
    size_t lines() const {
        std::ifstream file(path_);
        size_t count = 0;
        for (std::string line; std::getline(file, line);) ++count;
        return count;
    }
    void await_lines(size_t count) const {
        for (int i = 0; i < 500 && lines() < count; ++i) (void)runtime::sleep_ms(10);
        EXPECT_EQ(lines(), count);
    }
    std::filesystem::path directory_, path_;
};

TEST_F(UsageFileTest, SurvivesARestart) {
    {
        net::UsageLedger ledger(100);
        UsageFile file(path_, ledger);
        ASSERT_TRUE(ok(file.open()));
        ledger.change(key_of("a")).sent = 1;
        ASSERT_TRUE(ok(file.save()));
        await_lines(1);
        ledger.change(key_of("a")).sent = 2;
        ledger.change(key_of("b")).viewers.add(7);
        ASSERT_TRUE(ok(file.save()));
        ASSERT_TRUE(ok(file.save()));
        await_lines(3);
        ledger.change(key_of("c")).peak = 9;
        file.stop();
    }
    net::UsageLedger ledger(100);
    UsageFile file(path_, ledger);
    ASSERT_TRUE(ok(file.open()));
    EXPECT_EQ(ledger.size(), 3u);
    EXPECT_EQ(ledger.find(key_of("a"))->sent, 2u);
    EXPECT_EQ(ledger.find(key_of("b"))->viewers.count(), 1u);
    EXPECT_EQ(ledger.find(key_of("c"))->peak, 9u);
    file.stop();
}

TEST_F(UsageFileTest, WhatACrashCutIsLeftOut) {
    std::filesystem::create_directories(path_.parent_path());
    net::Usage usage{.sent = 5};
    std::ofstream(path_) << net::usage_line(key_of("a"), usage) << "garbage\n"
                         << net::usage_line(key_of("b"), usage) << net::usage_line(key_of("c"), usage).substr(0, 20);
    net::UsageLedger ledger(100);
    {
        UsageFile file(path_, ledger);
        ASSERT_TRUE(ok(file.open()));
        EXPECT_EQ(ledger.size(), 2u);
        EXPECT_EQ(file.unreadable_lines(), 1u) << "a line without its end is cut off";
        ledger.change(key_of("d")).sent = 1;
        file.stop();
    }
    net::UsageLedger again(100);
    UsageFile file(path_, again);
    ASSERT_TRUE(ok(file.open()));
    EXPECT_EQ(again.size(), 3u);
    file.stop();
}

TEST_F(UsageFileTest, ExpiredDaysTakeNoRoomOfNewOnes) {
    std::filesystem::create_directories(path_.parent_path());
    const auto key_at = [](int day, int i) { return net::UsageKey{day, {"v", "live", std::to_string(i)}, ""}; };
    {
        std::ofstream file(path_);
        for (const int day : {20260101, 20261128, 20261129})
            for (int i = 0; i < 4; ++i) file << net::usage_line(key_at(day, i), {.sent = 1});
    }
    net::UsageLedger ledger(6);
    ledger.forget_before(20261128);
    UsageFile file(path_, ledger);
    ASSERT_TRUE(ok(file.open()));
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(ledger.find(key_at(20260101, i)), nullptr) << i;
        EXPECT_NE(ledger.find(key_at(20261129, i)), nullptr) << "the newest day: " << i;
    }
    const net::Usage* other = ledger.find({20261128, {"", "", std::string(net::UsageLedger::kOther)}, ""});
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->sent, 2u) << "the day before has what room is left";
    EXPECT_EQ(ledger.first()->first.day, 20261128);
    file.stop();
}

TEST_F(UsageFileTest, DoesNotGrowWithEachChange) {
    net::UsageLedger ledger(100);
    UsageFile file(path_, ledger);
    ASSERT_TRUE(ok(file.open()));
    constexpr uint64_t kSaves = 100;
    for (uint64_t i = 1; i <= kSaves; ++i) {
        ledger.change(key_of(std::string(20'000, 'x'))).sent = i;
        ASSERT_TRUE(ok(file.save()));
        (void)runtime::sleep_ms(2);
    }
    file.stop();
    EXPECT_LT(std::filesystem::file_size(path_), 1'000'000u);
    net::UsageLedger again(100);
    UsageFile read(path_, again);
    ASSERT_TRUE(ok(read.open()));
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(again.first()->second.sent, kSaves);
    read.stop();
}

TEST_F(UsageFileTest, ALargeLedgerIsWrittenInPieces) {
    constexpr int kRows = 3500;
    const std::string name(20'000, 'x');
    static_assert(kRows * 20'000 > UsageFile::kMaxPending, "it does not fit in what may wait");
    {
        net::UsageLedger ledger(2 * kRows);
        UsageFile file(path_, ledger);
        ASSERT_TRUE(ok(file.open()));
        for (int i = 0; i < kRows; ++i) ledger.change(key_of(std::to_string(i) + name)).sent = 7;
        ASSERT_TRUE(ok(file.save()));
        file.stop();
    }
    net::UsageLedger again(2 * kRows);
    UsageFile read(path_, again);
    ASSERT_TRUE(ok(read.open()));
    EXPECT_EQ(again.size(), static_cast<size_t>(kRows));
    EXPECT_EQ(read.unreadable_lines(), 0u);
    read.stop();
}

TEST_F(UsageFileTest, TheNextProcessTakesItOver) {
    net::UsageLedger ledger(100), other(100);
    UsageFile file(path_, ledger), second(path_, other);
    ASSERT_TRUE(ok(file.open()));
    ASSERT_TRUE(ok(second.open()));
    ledger.change(key_of("a")).sent = 5;
    other.change(key_of("a")).sent = 7;
    other.change(key_of("b")).sent = 1;
    ASSERT_TRUE(ok(second.save())) << "it is kept";
    file.stop();
    for (int i = 0; i < 500 && other.find(key_of("a"))->sent < 12; ++i) (void)runtime::sleep_ms(10);
    EXPECT_EQ(other.find(key_of("a"))->sent, 12u) << "both have counted";
    second.stop();
    net::UsageLedger again(100);
    UsageFile read(path_, again);
    ASSERT_TRUE(ok(read.open()));
    EXPECT_EQ(again.size(), 2u);
    EXPECT_EQ(again.find(key_of("a"))->sent, 12u);
    EXPECT_EQ(again.find(key_of("b"))->sent, 1u);
    read.stop();
}

}  // namespace
}  // namespace service::accounts
