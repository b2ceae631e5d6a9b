#include "runtime/disk/paged_bytes.h"

#include <sys/stat.h>

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
    void SetUp() override {
        RuntimeTest::SetUp();
        ASSERT_TRUE(PagedBytes::available());
    }
    static std::string text(const PagedBytes& pages, uint64_t first, uint64_t length) {
        std::string out;
        for (const auto& part : pages.parts(first, length)) {
            std::vector<uint8_t> buffer(part.length);
            EXPECT_EQ(PagedBytes::source()->read_now(buffer, part.offset), part.length);
            out.append(buffer.begin(), buffer.end());
        }
        return out;
    }
    static int64_t memory() {
        struct stat info {};
        EXPECT_EQ(fstat(PagedBytes::source()->fd(), &info), 0);
        return info.st_blocks * 512;
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
    const std::weak_ptr<FileSource> file = PagedBytes::source();
    one.reset();
    EXPECT_FALSE(file.expired()) << "the other may append to it";
    ASSERT_TRUE(ok(other->append(bytes("more"))));
    const auto sending = file.lock();
    other.reset();
    EXPECT_EQ(file.use_count(), 1) << "who still sends from it";
    PagedBytes next;
    ASSERT_TRUE(ok(next.append(bytes("again"))));
    EXPECT_EQ(text(next, 0, 5), "again");
    EXPECT_NE(PagedBytes::source(), sending);
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
    const auto parts = pages->parts(0, UINT64_MAX);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[0].length + parts[1].length, pages->size());
    const int64_t before = memory();
    pages.reset();
    EXPECT_LE(memory(), before - (65 << 20));
}

// What a slow client has not received yet must not become another stream's bytes.
TEST_F(PagedBytesTest, BytesInASocketStayWhatTheyWere) {
    auto listener = listen_tcp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(listener));
    auto client = connect_tcp("127.0.0.1", (*listener)->port(), soon());
    auto server = (*listener)->accept(soon());
    ASSERT_TRUE(ok(client) && ok(server));
    auto first = std::make_unique<PagedBytes>();
    ASSERT_TRUE(ok(first->append(bytes(std::string(50'000, 'a')))));
    const auto at = first->parts(0, 50'000).front();
    const auto sent = (*server)->try_send_file(bytes("head"), PagedBytes::source()->fd(), at.offset, at.length);
    ASSERT_TRUE(ok(sent));
    ASSERT_EQ(*sent, 50'004u);
    first.reset();
    PagedBytes second;
    ASSERT_TRUE(ok(second.append(bytes(std::string(50'000, 'b')))));
    ASSERT_EQ(second.parts(0, 1).front().offset, at.offset) << "this test wants the same slot";
    std::string got;
    while (got.size() < 50'004) {
        auto piece = read_shared(**client, soon());
        ASSERT_TRUE(ok(piece));
        got += testing::text(*piece);
    }
    EXPECT_TRUE(got == "head" + std::string(50'000, 'a'));
}

}  // namespace
}  // namespace runtime::disk
