#include "runtime/disk/blocking_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <thread>

namespace runtime {
namespace {

std::span<const uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

class BlockingFileTest : public testing::Test {
  protected:
    void TearDown() override {
        std::filesystem::remove(path_);
        std::filesystem::remove(link_);
    }
    std::string content() const { return BlockingFile::open(path_, O_RDONLY)->read_all(1 << 20).value(); }

    const std::string path_ = testing::TempDir() + "blocking_file." + std::to_string(getpid());
    const std::string link_ = path_ + ".link";
};

TEST_F(BlockingFileTest, WritesAndReadsAtAnyOffset) {
    auto file = BlockingFile::open(path_, O_RDWR | O_CREAT);
    ASSERT_TRUE(file) << file.error().text();
    ASSERT_TRUE(file->write_at(0, bytes_of("0123456789")));
    ASSERT_TRUE(file->write_at(8, bytes_of("abcd")));
    uint8_t buffer[8] = {};
    EXPECT_EQ(file->read_at(2, buffer).value(), 8u);
    EXPECT_EQ(std::string(buffer, buffer + 8), "234567ab");
    EXPECT_EQ(file->read_at(9, buffer).value(), 3u) << "fewer at the end of the file";
    EXPECT_EQ(file->read_at(99, buffer).value(), 0u);
    EXPECT_EQ(content(), "01234567abcd");
    ASSERT_TRUE(file->replace("short"));
    EXPECT_EQ(content(), "short");
}

TEST_F(BlockingFileTest, AppendsAtTheEnd) {
    auto file = BlockingFile::open(path_, O_RDWR | O_CREAT | O_APPEND);
    ASSERT_TRUE(file);
    for (const char* line : {"a\n", "", "b\n"}) ASSERT_TRUE(file->append(line));
    EXPECT_EQ(content(), "a\nb\n");
}

TEST_F(BlockingFileTest, ReadsAtMostSoMuch) {
    auto file = BlockingFile::open(path_, O_RDWR | O_CREAT);
    ASSERT_TRUE(file->replace(std::string(200'000, 'x')));
    for (const size_t max : {size_t{0}, size_t{1}, size_t{65'536}, size_t{199'999}, size_t{200'000}, size_t{300'000}})
        EXPECT_EQ(BlockingFile::open(path_, O_RDONLY)->read_all(max).value().size(), std::min<size_t>(max, 200'000));
}

TEST_F(BlockingFileTest, ReadsAPipe) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const BlockingFile from(ends[0]);
    {
        const BlockingFile to(ends[1]);
        ASSERT_TRUE(to.append("through a pipe"));
    }
    EXPECT_EQ(from.read_all(100).value(), "through a pipe");
}

TEST_F(BlockingFileTest, WhatIsNotThereOrALinkIsNotOpened) {
    EXPECT_EQ(BlockingFile::open(path_, O_RDWR).error().code(), base::Code::kNotFound);
    EXPECT_EQ(BlockingFile::open(path_ + "/below", O_RDWR).error().code(), base::Code::kNotFound);
    ASSERT_TRUE(BlockingFile::open(path_, O_RDWR | O_CREAT));
    std::filesystem::create_symlink(path_, link_);
    auto followed = BlockingFile::open(link_, O_RDWR);
    ASSERT_FALSE(followed) << "a symbolic link was followed";
    EXPECT_NE(followed.error().code(), base::Code::kNotFound);
}

TEST_F(BlockingFileTest, ALockIsOfOneAtATime) {
    auto first = BlockingFile::open_locked(path_, O_RDWR | O_CREAT);
    ASSERT_TRUE(first);
    auto second = BlockingFile::open_locked(path_, O_RDWR);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), base::Code::kBusy);
    EXPECT_EQ(second.error().text(), path_ + " is in use by another server");
    *first = BlockingFile();
    EXPECT_FALSE(first->is_open());
    EXPECT_TRUE(BlockingFile::open_locked(path_, O_RDWR));
}

// Each owner replaces the file, as a journal does. Another one may open it just before that, and lock it after.
TEST_F(BlockingFileTest, ALockIsThatOfTheFileThatThePathNames) {
    constexpr int kTries = 20'000;
    const auto own = [&](const std::string& next, int& owned) {
        int wrong = 0;
        for (int i = 0; i < kTries; ++i) {
            auto file = BlockingFile::open_locked(path_, O_RDWR | O_CREAT);
            if (!file) continue;
            ++owned;
            wrong += !file->is_at(path_);
            const auto replacement = BlockingFile::open_locked(next, O_RDWR | O_CREAT);
            if (replacement) ::rename(next.c_str(), path_.c_str());
        }
        return wrong;
    };
    int owned = 0, owned_by_other = 0, wrong_of_other = 0;
    std::thread other([&] { wrong_of_other = own(path_ + ".other", owned_by_other); });
    const int wrong = own(path_ + ".one", owned);
    other.join();
    EXPECT_EQ(wrong + wrong_of_other, 0) << "of " << owned << " and " << owned_by_other;
    EXPECT_GT(owned, 0);
    EXPECT_GT(owned_by_other, 0);
}

}  // namespace
}  // namespace runtime
