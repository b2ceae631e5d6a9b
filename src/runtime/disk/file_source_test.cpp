#include "runtime/disk/file_source.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/disk/disk.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/testing.h"

namespace runtime::disk {
namespace {

namespace fs = std::filesystem;
using testing::ok;

constexpr size_t kPage = 4096;

class FileSourceTest : public testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        char name[] = "/tmp/file_source_test.XXXXXX";
        ASSERT_TRUE(mkdtemp(name) != nullptr);
        directory_ = name;
        for (int i = 0; bytes_.size() < 1'000'001; ++i) bytes_ += fmt::format("{:07}\n", i);
        bytes_.resize(1'000'001);
        std::ofstream(path(), std::ios::binary) << bytes_;
        fd_ = open(path().c_str(), O_RDONLY | O_CLOEXEC);
        ASSERT_GE(fd_, 0);
        source_ = std::make_unique<FileSource>(fd_, bytes_.size(), path());
        if (!source_->reads_now()) GTEST_SKIP() << "/tmp is on a file system that cannot tell what is in memory";
        ASSERT_TRUE(source_->sends_now());
    }
    void TearDown() override {
        source_.reset();
        set_fault(nullptr);
        fs::remove_all(directory_);
    }
    std::string path() const { return directory_ + "/file"; }
    void drop_from_memory() {
        ASSERT_EQ(fsync(fd_), 0);
        ASSERT_EQ(posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED), 0);
    }
    std::string read_now(uint64_t offset, size_t bytes) {
        std::string out(bytes, '\0');
        out.resize(source_->read_now({reinterpret_cast<uint8_t*>(out.data()), bytes}, offset));
        return out;
    }

    std::string directory_, bytes_;
    int fd_ = -1;
    std::unique_ptr<FileSource> source_;
};

TEST_F(FileSourceTest, WhatIsInMemory) {
    EXPECT_EQ(source_->resident(0, 10), 10u);
    EXPECT_EQ(source_->resident(kPage - 1, 2), 2u);
    EXPECT_EQ(source_->resident(5000, 150'000), 150'000u);
    EXPECT_EQ(source_->resident(kPage - 1, SIZE_MAX), FileSource::kMaxResident);
    EXPECT_EQ(source_->resident(bytes_.size() - 3, 100), 3u);
    EXPECT_EQ(source_->resident(bytes_.size(), 100), 0u);
    EXPECT_EQ(source_->resident(UINT64_MAX, 100), 0u);
    EXPECT_EQ(read_now(123'456, 77), bytes_.substr(123'456, 77));
    EXPECT_EQ(read_now(bytes_.size() - 5, 100), bytes_.substr(bytes_.size() - 5));
    EXPECT_EQ(read_now(bytes_.size(), 100), "");
}

// By the kernel's account, of a mapping of this test's own.
size_t pages_in_memory(int fd, size_t bytes) {
    void* mapping = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
    std::vector<unsigned char> pages((bytes + kPage - 1) / kPage);
    EXPECT_EQ(mincore(mapping, bytes, pages.data()), 0);
    munmap(mapping, bytes);
    return static_cast<size_t>(std::ranges::count_if(pages, [](unsigned char page) { return page & 1; }));
}

TEST_F(FileSourceTest, SmallFilesStayInMemoryWhileTheyAreOpen) {
    constexpr size_t kBytes = 100'000, kPages = 25;
    const std::string small = directory_ + "/small";
    std::ofstream(small, std::ios::binary) << bytes_.substr(0, kBytes);
    const int fd = open(small.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(fsync(fd), 0);
    auto source = std::make_unique<FileSource>(fd, kBytes, small);
#ifdef SRS_SANITIZER
    GTEST_SKIP() << "mlock() of the address sanitizer does nothing";
#endif
    if (!source->is_locked()) GTEST_SKIP() << "the process may not lock memory";
    EXPECT_FALSE(source_->is_locked()) << "a large one is not locked";
    ASSERT_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    EXPECT_EQ(pages_in_memory(fd, kBytes), kPages);
    EXPECT_EQ(source->resident(0, SIZE_MAX), kBytes);
    EXPECT_EQ(source->resident(kBytes - 3, 10), 3u);
    EXPECT_EQ(source->resident(kBytes, 10), 0u);
}

// What is not in memory is not read to lock it, and there is a limit for all together.
TEST_F(FileSourceTest, LocksWhatIsInMemoryUpToALimit) {
    constexpr size_t kBytes = 500'000;
    const std::string small = directory_ + "/small";
    std::ofstream(small, std::ios::binary) << bytes_.substr(0, kBytes);
    const auto opened = [&] {
        const int fd = open(small.c_str(), O_RDONLY | O_CLOEXEC);
        EXPECT_EQ(fsync(fd), 0);
        return fd;
    };
    const int cold = opened();
    ASSERT_EQ(posix_fadvise(cold, 0, 0, POSIX_FADV_DONTNEED), 0);
    EXPECT_FALSE(FileSource(cold, kBytes, small).is_locked());
    std::ofstream(small, std::ios::binary) << bytes_.substr(0, kBytes);
    std::vector<std::unique_ptr<FileSource>> sources;
    size_t locked = 0;
    for (int i = 0; i < 100; ++i) {
        sources.push_back(std::make_unique<FileSource>(opened(), kBytes, small));
        locked += sources.back()->is_locked() ? kBytes : 0;
        EXPECT_EQ(sources.back()->resident(0, 1000), 1000u) << "file " << i;
    }
    EXPECT_LE(locked, 32u * 1024 * 1024);
    sources.clear();
    bool again = locked == 0;
    for (int i = 0; i < 500 && !again; ++i) {  // a worker unlocks them
        ASSERT_TRUE(ok(sleep_ms(10)));
        again = FileSource(opened(), kBytes, small).is_locked();
    }
    EXPECT_TRUE(again) << "the limit is of those that are open";
}

TEST_F(FileSourceTest, WhatIsNotInMemoryIsLoaded) {
    drop_from_memory();
    EXPECT_EQ(source_->resident(0, 100'000), 0u);
    EXPECT_EQ(read_now(0, 100'000), "");
    const auto part = source_->read(500'000, 1000, Deadline::in_ms(10'000));
    ASSERT_TRUE(ok(part));
    EXPECT_EQ(std::string(part->begin(), part->end()), bytes_.substr(500'000, 1000));
    ASSERT_TRUE(ok(source_->load(100'000, Deadline::in_ms(10'000))));
    EXPECT_EQ(source_->resident(100'000, 50'000), 50'000u);
    EXPECT_EQ(read_now(100'000, 50'000), bytes_.substr(100'000, 50'000));
}

TEST_F(FileSourceTest, AFileThatHasBecomeShorter) {
    fs::resize_file(path(), 10'000);
    // resident() may still count what follows in the last folio, of which sendfile() sends nothing.
    EXPECT_EQ(read_now(9'990, 100), bytes_.substr(9'990, 10));
    EXPECT_EQ(read_now(20'000, 100), "");
    ASSERT_TRUE(ok(source_->load(20'000, Deadline::in_ms(10'000))));
    const auto nothing = source_->read(20'000, 100, Deadline::in_ms(10'000));
    ASSERT_TRUE(ok(nothing));
    EXPECT_TRUE(nothing->empty());
}

TEST_F(FileSourceTest, ManyWaitForOneReadOfASlowDiskAndTheLoopGoesOn) {
    drop_from_memory();
    set_fault(std::make_unique<Fault>(*parse_fault("path=file_source_test op=read delay_ms=400")));
    const int64_t began_ms = base::monotonic_ms();
    int loaded = 0;
    std::vector<Task> tasks;
    for (int i = 0; i < 50; ++i)
        tasks.push_back(spawn("loader", [&] { loaded += source_->load(4000, Deadline::in_ms(10'000)).has_value(); }));
    int64_t longest_ms = 0;
    while (loaded < 50 && base::monotonic_ms() - began_ms < 10'000) {
        const int64_t before_ms = base::monotonic_ms();
        ASSERT_TRUE(ok(sleep_ms(5)));
        longest_ms = std::max(longest_ms, base::monotonic_ms() - before_ms);
    }
    const int64_t took_ms = base::monotonic_ms() - began_ms;
    EXPECT_EQ(loaded, 50);
    EXPECT_GE(took_ms, 400);
    EXPECT_LT(took_ms, 5'000) << "each of the 50 seems to have read on its own";
    EXPECT_LT(longest_ms, 300) << "the loop waited for the disk";
    EXPECT_EQ(source_->resident(4000, 10), 10u);
}

// Otherwise each of those who waited would read on its own.
TEST_F(FileSourceTest, WhereTheReaderLeavesTheNextOneReadsForAll) {
    drop_from_memory();
    set_fault(std::make_unique<Fault>(*parse_fault("path=file_source_test op=read delay_ms=200")));
    int loaded = 0, absent = 0;
    std::vector<Task> tasks;
    for (int i = 0; i < 20; ++i)
        tasks.push_back(spawn("loader", [&] {
            if (!source_->load(4000, Deadline::in_ms(10'000))) return;
            ++loaded;
            absent += source_->resident(4000, 10) == 0;
        }));
    ASSERT_TRUE(ok(sleep_ms(20)));
    tasks.front().cancel_and_join();
    for (int i = 0; i < 400 && loaded < 19; ++i) ASSERT_TRUE(ok(sleep_ms(5)));
    EXPECT_EQ(loaded, 19);
    EXPECT_EQ(absent, 0) << "they continued before the bytes were there";
}

TEST_F(FileSourceTest, AFailedRead) {
    set_fault(std::make_unique<Fault>(*parse_fault("path=file_source_test op=read error=EIO")));
    EXPECT_TRUE(testing::failed_with(source_->read(0, 10, Deadline::in_ms(10'000)), base::Code::kSystem));
}

TEST_F(FileSourceTest, TheFileIsClosed) {
    source_.reset();
    for (int i = 0; i < 400 && fcntl(fd_, F_GETFD) >= 0; ++i) ASSERT_TRUE(ok(sleep_ms(5)));
    EXPECT_LT(fcntl(fd_, F_GETFD), 0);
}

}  // namespace
}  // namespace runtime::disk
