#include "runtime/disk/paged_bytes.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "runtime/loop/testing.h"
#include "runtime/socket/stream_testing.h"
#include "runtime/socket/tcp.h"

namespace runtime::disk {
namespace {

using testing::bytes;
using testing::ok;
using testing::soon;

class PagedBytesTest : public testing::RuntimeTest {
  protected:
    static std::string text(const PagedBytes& pages, uint64_t first, uint64_t length) {
        return text(pages.parts(first, length));
    }
    static std::string text(const std::vector<PagedBytes::Part>& parts) {
        std::string out;
        for (const auto& part : parts) {
            std::vector<uint8_t> buffer(part.length);
            EXPECT_EQ(part.source->read_now(buffer, part.offset), part.length);
            out.append(buffer.begin(), buffer.end());
        }
        return out;
    }
    static struct stat attributes(int fd) {
        struct stat info {};
        return fstat(fd, &info) == 0 ? info : (struct stat){};
    }
    static ino_t inode(int fd) { return attributes(fd).st_ino; }  // 0: it is closed
    // Bytes of the file.
    static int64_t memory(const PagedBytes& any) {
        return int64_t{attributes(any.parts(0, 1).front().source->fd()).st_blocks} * 512;
    }
    static std::shared_ptr<PagedBytes> filled(size_t size, char with = 'x') {
        auto pages = std::make_shared<PagedBytes>();
        EXPECT_TRUE(ok(pages->append(bytes(std::string(size, with)))));
        return pages;
    }
    // What a slow client has not received yet must not become another stream's bytes. first: has so many times 'a'.
    static void bytes_in_a_socket_stay(std::shared_ptr<PagedBytes> first, size_t size) {
        auto listener = listen_tcp({"127.0.0.1", 0});
        ASSERT_TRUE(ok(listener));
        auto client = connect_tcp("127.0.0.1", (*listener)->port(), soon());
        auto server = (*listener)->accept(soon());
        ASSERT_TRUE(ok(client) && ok(server));
        auto at = first->parts(0, size).front();
        const auto sent = (*server)->try_send_file(bytes("head"), at.source->fd(), at.offset, at.length);
        ASSERT_TRUE(ok(sent));
        ASSERT_EQ(*sent, size + 4);
        first.reset();
        at.source.reset();
        // The slot of the pages that were sent, and of the ones that these were copied from.
        const std::shared_ptr<PagedBytes> others[] = {filled(size, 'b'), filled(size, 'b')};
        ASSERT_TRUE(std::ranges::any_of(others, [&](const auto& one) {
            return one->parts(0, 1).front().offset == at.offset;
        })) << "this test wants the same slot";
        std::string got;
        while (got.size() < size + 4) {
            auto piece = read_shared(**client, soon());
            ASSERT_TRUE(ok(piece));
            got += testing::text(*piece);
        }
        EXPECT_TRUE(got == "head" + std::string(size, 'a'));
    }
};

// Linux 6.1 and later.
bool kernel_collapses() {
    constexpr size_t kLarge = PagedBytes::kLargePageBytes;
    void* space = mmap(nullptr, 2 * kLarge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* page = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(space) + kLarge - 1) / kLarge * kLarge);
    *page = 1;
    constexpr int kCollapse = 25;  // MADV_COLLAPSE, which older headers lack
    const bool done = madvise(page, kLarge, kCollapse) == 0;
    munmap(space, 2 * kLarge);
    return done;
}

class LargePagesTest : public PagedBytesTest {
  protected:
    void SetUp() override {
        PagedBytesTest::SetUp();
        if (!kernel_collapses()) GTEST_SKIP() << "the kernel has no MADV_COLLAPSE, or no large pages";
    }
    // Copied to large pages by the last of so many readers.
    static void read_often(PagedBytes& pages) {
        for (uint32_t i = 0; i < PagedBytes::kManyReaders; ++i) pages.count_reader();
    }
    static bool is_copied_soon(const PagedBytes& pages) {
        for (int i = 0; i < 500 && !pages.in_large_pages(); ++i) EXPECT_TRUE(ok(sleep_ms(2)));
        return pages.in_large_pages();
    }
};

TEST_F(PagedBytesTest, KeepsWhatWasAppended) {
    PagedBytes one, other;
    std::string all;
    for (int i = 0; i < 300; ++i) {
        const std::string piece = std::to_string(i) + std::string(static_cast<size_t>(i) * 7, 'x');
        ASSERT_TRUE(ok(one.append(bytes(piece))));
        ASSERT_TRUE(ok(other.append(bytes("of the other"))));
        all += piece;
    }
    EXPECT_EQ(one.size(), all.size());
    EXPECT_TRUE(text(one, 0, UINT64_MAX) == all);
    EXPECT_EQ(text(one, 5000, 77), all.substr(5000, 77));
    EXPECT_EQ(text(one, all.size() - 3, 100), all.substr(all.size() - 3));
    EXPECT_TRUE(one.parts(all.size(), 10).empty());
    EXPECT_EQ(text(other, 0, 12), "of the other");
}

TEST_F(PagedBytesTest, TheFileIsClosedWithTheLastOfThem) {
    auto one = std::make_unique<PagedBytes>();
    auto other = std::make_unique<PagedBytes>();
    ASSERT_TRUE(ok(one->append(bytes("some"))));
    const ino_t file = inode(one->parts(0, 4).front().source->fd());
    one.reset();
    ASSERT_TRUE(ok(other->append(bytes("more"))));
    auto sending = other->parts(0, 4);
    EXPECT_EQ(inode(sending.front().source->fd()), file) << "the other may append to it";
    other.reset();
    EXPECT_EQ(text(sending), "more") << "who still sends from it";
    const int fd = sending.front().source->fd();
    sending.clear();
    for (int i = 0; i < 500 && inode(fd) == file; ++i) ASSERT_TRUE(ok(sleep_ms(2)));  // by a worker, if there are any
    EXPECT_NE(inode(fd), file);
    PagedBytes next;
    ASSERT_TRUE(ok(next.append(bytes("again"))));
    EXPECT_EQ(text(next, 0, 5), "again");
}

TEST_F(PagedBytesTest, LargerThanASlot) {
    auto pages = std::make_unique<PagedBytes>();
    std::string megabyte(1 << 20, 'm');
    for (int i = 0; i < 65; ++i) {
        megabyte[0] = static_cast<char>('A' + i % 26);
        ASSERT_TRUE(ok(pages->append(bytes(megabyte))));
        ASSERT_TRUE(ok(pages->append(bytes("odd"))));
    }
    constexpr uint64_t kRound = (1 << 20) + 3;
    EXPECT_EQ(pages->size(), 65 * kRound);
    for (uint64_t i : {0u, 62u, 63u, 64u})
        EXPECT_EQ(text(*pages, i * kRound, 2), std::string(1, static_cast<char>('A' + i % 26)) + "m") << i;
    auto parts = pages->parts(0, UINT64_MAX);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[0].length + parts[1].length, pages->size());
    parts.clear();
    const auto other = filled(1);
    const int64_t before = memory(*other);
    pages.reset();
    EXPECT_LE(memory(*other), before - (65 << 20));
}

TEST_F(PagedBytesTest, WhereFilesAreLimitedEachHasItsOwn) {
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit limited{1 << 20, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
    {
        PagedBytes one, other;
        ASSERT_TRUE(one.append(std::vector<uint8_t>(300'000, 'a')));
        ASSERT_TRUE(other.append(std::vector<uint8_t>(300'000, 'b')));
        ASSERT_TRUE(one.append(std::vector<uint8_t>(300'000, 'c')));
        EXPECT_EQ(text(one, 299'999, 2), "ac");
        EXPECT_EQ(text(other, 0, 400'000), std::string(300'000, 'b'));
        EXPECT_NE(one.parts(0, 1)[0].source->fd(), other.parts(0, 1)[0].source->fd());
        const auto beyond = one.append(std::vector<uint8_t>(500'000, 'd'));
        ASSERT_FALSE(beyond) << "the process would end";
        EXPECT_EQ(beyond.error().code(), base::Code::kLimit);
        for (uint32_t i = 0; i <= PagedBytes::kManyReaders; ++i) one.count_reader();
        EXPECT_FALSE(one.in_large_pages());
    }
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
}

TEST_F(PagedBytesTest, BytesInASocketStayWhatTheyWere) { bytes_in_a_socket_stay(filled(50'000, 'a'), 50'000); }

// A large page must be freed as a whole: of a part of one the kernel would make zeros.
TEST_F(LargePagesTest, BytesInASocketStayWhatTheyWere) {
    auto pages = filled(70'000, 'a');
    read_often(*pages);
    ASSERT_TRUE(is_copied_soon(*pages));
    bytes_in_a_socket_stay(std::move(pages), 70'000);
}

TEST_F(LargePagesTest, WhatManyReadIsCopied) {
    const auto pages = std::make_shared<PagedBytes>();
    std::string all;
    for (int i = 0; i < 30'000; ++i) all += std::to_string(i);
    ASSERT_TRUE(ok(pages->append(bytes(all))));
    const int64_t before = memory(*pages);
    const auto sending = pages->parts(0, UINT64_MAX);
    for (uint32_t i = 1; i < PagedBytes::kManyReaders; ++i) pages->count_reader();
    ASSERT_TRUE(ok(sleep_ms(20)));
    EXPECT_FALSE(pages->in_large_pages()) << "after one reader less";
    pages->count_reader();
    ASSERT_TRUE(is_copied_soon(*pages));
    EXPECT_NE(pages->parts(0, 1).front().offset, sending.front().offset);
    EXPECT_TRUE(text(*pages, 0, UINT64_MAX) == all);
    EXPECT_TRUE(text(sending) == all) << "to who has begun before";
    // The kernel counts a large page as a whole.
    EXPECT_EQ(memory(*pages), before + static_cast<int64_t>(PagedBytes::kLargePageBytes));
}

TEST_F(LargePagesTest, AreFreedWithTheLastReader) {
    const auto other = filled(1);
    const int64_t before = memory(*other);
    auto pages = filled(100'000);
    read_often(*pages);
    ASSERT_TRUE(is_copied_soon(*pages));
    auto sending = pages->parts(0, UINT64_MAX);
    pages.reset();
    EXPECT_TRUE(text(sending) == std::string(100'000, 'x'));
    EXPECT_GT(memory(*other), before);
    sending.clear();
    EXPECT_EQ(memory(*other), before);
}

TEST_F(LargePagesTest, BytesThatLeaveWhileAWorkerCopiesThem) {
    const auto other = filled(1);
    const int64_t before = memory(*other);
    auto pages = filled(100'000);
    read_often(*pages);
    ASSERT_TRUE(ok(yield()));
    pages.reset();
    for (int i = 0; i < 500 && memory(*other) != before; ++i) ASSERT_TRUE(ok(sleep_ms(2)));
    EXPECT_EQ(memory(*other), before);
}

TEST_F(LargePagesTest, FewBytesStayWhereTheyAre) {
    const auto pages = filled(PagedBytes::kMinLargeBytes - 1);
    read_often(*pages);
    ASSERT_TRUE(ok(sleep_ms(20)));
    EXPECT_FALSE(pages->in_large_pages());
}

TEST_F(LargePagesTest, AreBoundedAndTakenFromWhatIsNotRead) {
    std::vector<std::shared_ptr<PagedBytes>> all;
    constexpr size_t kRoom = PagedBytes::kMaxLargeBytes / PagedBytes::kLargePageBytes;
    for (size_t i = 0; i < kRoom; ++i) {
        all.push_back(filled(100'000));
        read_often(*all.back());
        ASSERT_TRUE(is_copied_soon(*all.back())) << i;
    }
    const auto one_more = filled(100'000, 'm');
    const int64_t before = memory(*one_more);
    read_often(*one_more);
    ASSERT_TRUE(ok(sleep_ms(20)));
    EXPECT_FALSE(one_more->in_large_pages()) << "all others were read just now";
    EXPECT_EQ(memory(*one_more), before);
    ASSERT_TRUE(ok(sleep_ms(PagedBytes::kUnreadUs / 1000)));
    for (size_t i = 0; i < kRoom; ++i)
        if (i != 5) all[i]->count_reader();
    one_more->count_reader();
    ASSERT_TRUE(is_copied_soon(*one_more));
    EXPECT_FALSE(all[5]->in_large_pages());
    EXPECT_TRUE(text(*all[5], 0, UINT64_MAX) == std::string(100'000, 'x'));
    EXPECT_TRUE(text(*one_more, 0, UINT64_MAX) == std::string(100'000, 'm'));
    EXPECT_EQ(memory(*one_more), before);
}

}  // namespace
}  // namespace runtime::disk
