#include "runtime/send_batch.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/tcp_stream.h"
#include "runtime/testing.h"

namespace runtime {
namespace {

using testing::ok;

struct Pair {
    std::unique_ptr<detail::TcpStream> stream;
    int peer = -1;
    Pair() {
        int ends[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
        auto made = detail::TcpStream::make(ends[0], {});
        EXPECT_TRUE(ok(made));
        stream = *std::move(made);
        peer = ends[1];
    }
    ~Pair() {
        if (peer >= 0) ::close(peer);
    }
    std::string received() const {
        std::string all;
        char buffer[65536];
        for (ssize_t n; (n = ::recv(peer, buffer, sizeof buffer, MSG_DONTWAIT)) > 0;)
            all.append(buffer, static_cast<size_t>(n));
        return all;
    }
};

iovec part(const std::string& text) { return {const_cast<char*>(text.data()), text.size()}; }

struct Told {
    size_t whose;
    bool good;
    size_t sent;
    size_t asked;
    auto operator<=>(const Told&) const = default;
};

std::vector<Told> send(SendBatch& batch) {
    std::vector<Told> all;
    batch.send([&](void* whose, const base::Result<size_t>& sent, size_t asked) {
        all.push_back({reinterpret_cast<size_t>(whose), sent.has_value(), sent ? *sent : 0, asked});
    });
    return all;
}

void* tag(size_t number) { return reinterpret_cast<void*>(number); }

class SendBatchTest : public testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        if (!batch.usable()) GTEST_SKIP() << "io_uring is refused here";
    }
    SendBatch batch;
};

TEST_F(SendBatchTest, EachGetsHisOwnBytesAndTheOrderIsKept) {
    std::vector<Pair> pairs(SendBatch::kMost);
    std::vector<std::string> texts;
    for (size_t i = 0; i < pairs.size(); ++i) texts.push_back("viewer " + std::to_string(i));
    const std::string tail = ", and more", end = ".";
    for (int round = 0; round < 3; ++round) {
        for (size_t i = 0; i < pairs.size(); ++i) {
            const iovec parts[] = {part(texts[i]), part(tail), part(end)};
            ASSERT_TRUE(batch.add(*pairs[i].stream, std::span(parts).first(1 + i % 3), tag(i)));
        }
        EXPECT_TRUE(batch.full());
        Pair late;
        const iovec one = part(tail);
        EXPECT_FALSE(batch.add(*late.stream, {&one, 1}, nullptr));
        auto told = send(batch);
        ASSERT_EQ(told.size(), pairs.size());
        EXPECT_EQ(batch.size(), 0u);
        for (size_t i = 0; i < pairs.size(); ++i) {
            std::string wanted = texts[i] + (i % 3 > 0 ? tail : "") + (i % 3 > 1 ? end : "");
            EXPECT_EQ(told[i], (Told{i, true, wanted.size(), wanted.size()}));
            EXPECT_EQ(pairs[i].received(), wanted);
        }
    }
    EXPECT_TRUE(send(batch).empty());
}

TEST_F(SendBatchTest, AFullSocketTakesPartAndIsLeftAloneUntilItIsWritable) {
    Pair slow, quick;
    const std::string much(8 << 20, 'x'), little = "y";
    const iovec big = part(much), small = part(little);
    ASSERT_TRUE(batch.add(*slow.stream, {&big, 1}, tag(1)));
    ASSERT_TRUE(batch.add(*quick.stream, {&small, 1}, tag(2)));
    auto told = send(batch);
    EXPECT_TRUE(told[0].good);
    EXPECT_LT(told[0].sent, much.size());
    EXPECT_EQ(told[1], (Told{2, true, 1, 1}));
    EXPECT_FALSE(slow.stream->watch().writable());
    EXPECT_FALSE(batch.add(*slow.stream, {&big, 1}, tag(1)));
    EXPECT_EQ(slow.received(), much.substr(0, told[0].sent));
    EXPECT_TRUE(ok(slow.stream->watch().wait_writable(Deadline::in_ms(10'000))));
    EXPECT_TRUE(batch.add(*slow.stream, {&small, 1}, tag(1)));
    EXPECT_EQ(send(batch), (std::vector<Told>{{1, true, 1, 1}}));
}

TEST_F(SendBatchTest, APeerThatIsGoneIsAnErrorOfItsOwn) {
    Pair gone, there;
    ::close(std::exchange(gone.peer, -1));
    const std::string text = "hello";
    const iovec bytes = part(text);
    ASSERT_TRUE(batch.add(*gone.stream, {&bytes, 1}, tag(1)));
    ASSERT_TRUE(batch.add(*there.stream, {&bytes, 1}, tag(2)));
    EXPECT_EQ(send(batch), (std::vector<Told>{{1, false, 0, 5}, {2, true, 5, 5}}));
    EXPECT_EQ(there.received(), text);
}

TEST_F(SendBatchTest, RefusesTooManyPartsAndWhatTheOperatorForbids) {
    Pair pair;
    const std::string text = "a";
    std::vector<iovec> parts(SendBatch::kMostParts + 1, part(text));
    EXPECT_FALSE(batch.add(*pair.stream, parts, nullptr));
    EXPECT_EQ(batch.size(), 0u);
    batch.allow(false);
    EXPECT_FALSE(batch.usable());
    batch.allow(true);
    EXPECT_TRUE(batch.usable());
}

}  // namespace
}  // namespace runtime
