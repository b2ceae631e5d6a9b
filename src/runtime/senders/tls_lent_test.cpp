// Writes over TLS that are lent to sender threads.

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "runtime/loop/testing.h"
#include "runtime/senders/lent_write.h"
#include "runtime/senders/senders.h"
#include "runtime/socket/tcp_stream.h"
#include "runtime/socket/tls_stream.h"
#include "runtime/socket/tls_testing.h"

namespace runtime {
namespace {

using base::Code;
using testing::failed_with;
using testing::ok;
using testing::soon;
using testing::StreamPair;

constexpr size_t kLittleRoom = 16 * 1024;  // bytes of a socket's buffer

// The ends of a connection; the server's has little room where wanted.
StreamPair local_pair(bool little_room, int* client_fd = nullptr) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    const int bytes = kLittleRoom;
    if (little_room) setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    StreamPair pair;
    pair.server = *detail::TcpStream::make(ends[1], {});
    if (client_fd)
        *client_fd = ends[0];
    else
        pair.client = *detail::TcpStream::make(ends[0], {});
    return pair;
}

std::string pattern(size_t bytes, uint32_t seed) {
    std::string text(bytes, 0);
    for (char& c : text) c = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
    return text;
}

// Without their bytes in the report.
::testing::AssertionResult same(const std::string& got, const std::string& expected) {
    if (got == expected) return ::testing::AssertionSuccess();
    const auto at = std::ranges::mismatch(got, expected).in1 - got.begin();
    return ::testing::AssertionFailure() << got.size() << " bytes came of " << expected.size() << ", as expected up to "
                                         << at;
}

// As a viewer: one write at a time is lent.
class Lender final : public SendJobUser, public ParkedHandler {
  public:
    Lender(Senders& senders, ByteStream& stream) : senders_(senders), stream_(stream) { stream_.park(*this); }
    ~Lender() { stream_.unpark(); }

    // False: the stream cannot be lent.
    bool lend(std::string_view text, size_t parts = 1) {
        const ByteStream::LentWrite write = stream_.lend_write();
        if (!write.call) return false;
        SendJob& job = senders_.take_job();
        job.write = write;
        job.user = this;
        const size_t each = std::max<size_t>(text.size() / parts, 1);
        for (job.part_count = 0; !text.empty(); ++job.part_count) {
            const auto part = text.substr(0, job.part_count + 1 < parts ? each : text.size());
            job.parts[job.part_count] = {const_cast<char*>(part.data()), part.size()};
            text.remove_prefix(part.size());
        }
        EXPECT_TRUE(senders_.lend(static_cast<uint32_t>(write.fd) % senders_.threads(), job));
        job_ = &job;
        return true;
    }
    bool is_lent() const { return job_ != nullptr; }
    // The bytes that were accepted; 0 if it was taken back.
    base::Result<size_t> settle() {
        SendJob& job = *std::exchange(job_, nullptr);
        const bool made = senders_.settle(job);
        const ByteStream::WriteResult result = job.result;
        senders_.release(job);
        if (!made) return 0;
        return stream_.end_lent_write(result);
    }
    base::Result<size_t> lend_and_settle(std::string_view text, size_t parts = 1) {
        if (!lend(text, parts)) return base::fail(Code::kOther, "it cannot be lent");
        (void)senders_.run(0);
        return settle();
    }

    void on_send_done(SendJob&) override { ++notices; }
    void on_readable() override {}
    void on_writable() override { ++told_of_room; }
    void on_hangup() override {}

    int notices = 0, told_of_room = 0;

  private:
    Senders& senders_;
    ByteStream& stream_;
    SendJob* job_ = nullptr;
};

class TlsLentTest : public testing::RuntimeTest {
  protected:
    void start(Senders::Mode mode, size_t threads = 1) { senders = *Senders::start(threads, mode); }
    // What comes until nothing has come for 20 ms.
    static std::string read_all(ByteStream& stream) {
        std::string all;
        std::array<uint8_t, 4096> buffer;
        for (int in_vain = 0; in_vain < 20;) {
            auto got = stream.try_read(buffer);
            EXPECT_TRUE(ok(got));
            if (!got) break;
            all += testing::text(std::span(buffer).first(got->bytes));
            in_vain = got->bytes > 0 ? 0 : in_vain + 1;
            if (got->bytes == 0) (void)sleep_ms(1);
        }
        return all;
    }

    std::unique_ptr<Senders> senders;
};

TEST_F(TlsLentTest, ThePeerReadsWhatAThreadWrote) {
    start(Senders::Mode::kManual);
    auto [client, server] = testing::with_tls(local_pair(false));
    Lender lender(*senders, *server);
    const std::string text = pattern(100'000, 1);
    for (const size_t parts : {1, 3, 16}) {
        EXPECT_EQ(lender.lend_and_settle(text, parts).value_or(0), text.size());
        EXPECT_TRUE(same(read_all(*client), text));
    }
    EXPECT_EQ(lender.notices, 0);
    // And the loop goes on where the thread was.
    ASSERT_EQ(server->try_write(testing::bytes("by the loop")).value_or(0), 11u);
    EXPECT_EQ(read_all(*client), "by the loop");
}

TEST_F(TlsLentTest, AWriteThatIsTakenBackLeavesNothing) {
    start(Senders::Mode::kManual);
    auto [client, server] = testing::with_tls(local_pair(false));
    Lender lender(*senders, *server);
    ASSERT_TRUE(lender.lend("taken back"));
    EXPECT_EQ(lender.settle().value_or(1), 0u);
    ASSERT_EQ(server->try_write(testing::bytes("by the loop")).value_or(0), 11u);
    EXPECT_EQ(lender.lend_and_settle(", then by a thread").value_or(0), 18u);
    EXPECT_EQ(read_all(*client), "by the loop, then by a thread");
}

// The rest of what was accepted has no further visit: it goes on by the edge.
TEST_F(TlsLentTest, AShortWriteGoesOnWhenThereIsRoom) {
    start(Senders::Mode::kManual);
    auto [client, server] = testing::with_tls(local_pair(true));
    Lender lender(*senders, *server);
    const std::string text = pattern(60'000, 2);  // all of it is encrypted, and the socket takes a part
    EXPECT_EQ(lender.lend_and_settle(text).value_or(0), text.size());
    ASSERT_TRUE(ok(sleep_ms(1)));
    EXPECT_EQ(lender.notices, 0) << "it was settled before";
    EXPECT_FALSE(lender.lend("more")) << "there is no room";
    EXPECT_TRUE(same(read_all(*client), text));
    EXPECT_EQ(lender.lend_and_settle("more").value_or(0), 4u);
    EXPECT_EQ(read_all(*client), "more");
}

TEST_F(TlsLentTest, RoomThatCameBeforeTheCollectionIsUsed) {
    start(Senders::Mode::kManual);
    auto [client, server] = testing::with_tls(local_pair(true));
    Lender lender(*senders, *server);
    const std::string text = pattern(60'000, 3);
    ASSERT_TRUE(lender.lend(text));
    (void)senders->run(0);
    const std::string first = read_all(*client);  // and the loop gets the edge
    EXPECT_LT(first.size(), text.size());
    EXPECT_EQ(lender.notices, 1) << "a short write is reported, although all was accepted";
    EXPECT_EQ(lender.settle().value_or(0), text.size());
    EXPECT_TRUE(same(first + read_all(*client), text));
}

TEST_F(TlsLentTest, MoreThanTheSocketTakesIsNotAccepted) {
    start(Senders::Mode::kManual);
    auto [client, server] = testing::with_tls(local_pair(true));
    Lender lender(*senders, *server);
    const std::string text = pattern(400'000, 4);
    std::string got;
    for (size_t accepted = 0; accepted < text.size();) {
        if (lender.lend(std::string_view(text).substr(accepted), 7)) {
            (void)senders->run(0);
            const auto more = lender.settle();
            ASSERT_TRUE(ok(more));
            EXPECT_LE(*more, 128 * 1024u);
            accepted += *more;
        }
        got += read_all(*client);
    }
    EXPECT_TRUE(same(got + read_all(*client), text));
}

// Where the loop's own write was short, its handler is called before anything is lent.
TEST_F(TlsLentTest, RoomIsReportedBeforeAWriteIsLent) {
    start(Senders::Mode::kManual);
    auto [client, server] = testing::with_tls(local_pair(true));
    {
        Lender lender(*senders, *server);
        const std::string text = pattern(60'000, 5);
        ASSERT_TRUE(ok(server->try_write(testing::bytes(text))));
        EXPECT_LT(server->try_write(testing::bytes("more")).value_or(4), 4u);
    }
    // Nobody is told of the room that comes now.
    (void)read_all(*client);
    Lender lender(*senders, *server);
    EXPECT_FALSE(lender.lend("more"));
    ASSERT_TRUE(ok(sleep_ms(1)));
    EXPECT_EQ(lender.told_of_room, 1);
    EXPECT_EQ(lender.lend_and_settle("more").value_or(0), 4u);
    EXPECT_TRUE(read_all(*client).ends_with("more"));
}

TEST_F(TlsLentTest, AnErrorIsTheWritesResult) {
    start(Senders::Mode::kManual);
    auto [client, server] = testing::with_tls(local_pair(false));
    Lender lender(*senders, *server);
    client.reset();
    EXPECT_TRUE(failed_with(lender.lend_and_settle(pattern(1000, 6)), Code::kClosed));
    EXPECT_FALSE(lender.lend("more"));
    EXPECT_TRUE(failed_with(server->try_write(testing::bytes("more")), Code::kClosed));
}

// A client of OpenSSL's own that asks for new keys: the thread's next write answers.
TEST_F(TlsLentTest, ThePeerAsksForNewKeys) {
    start(Senders::Mode::kManual);
    int fd = -1;
    auto plain = local_pair(false, &fd);
    std::unique_ptr<ByteStream> server;
    auto acceptor = spawn("acceptor", [&] {
        auto accepted = tls_accept(std::move(plain.server), testing::tls_test_context(), soon());
        ASSERT_TRUE(ok(accepted));
        server = *std::move(accepted);
    });
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL* client = SSL_new(context);
    SSL_set_fd(client, fd);
    for (int i = 0; i < 1000 && SSL_connect(client) != 1; ++i) (void)sleep_ms(1);
    ASSERT_TRUE(ok(acceptor.join(soon())));
    ASSERT_TRUE(server);
    const auto read_some = [&] {
        std::array<char, 100> got;
        const int n = SSL_read(client, got.data(), got.size());
        return n > 0 ? std::string(got.data(), static_cast<size_t>(n)) : std::string();
    };
    {
        Lender lender(*senders, *server);
        for (int round = 0; round < 3; ++round) {
            ASSERT_EQ(SSL_key_update(client, SSL_KEY_UPDATE_REQUESTED), 1);
            ASSERT_EQ(SSL_write(client, "ping", 4), 4);
            EXPECT_EQ(read_all(*server), "ping");
            EXPECT_EQ(lender.lend_and_settle("pong").value_or(0), 4u);
            EXPECT_EQ(read_some(), "pong");
            EXPECT_EQ(lender.lend_and_settle("and more").value_or(0), 8u);
            EXPECT_EQ(read_some(), "and more");
        }
    }
    SSL_free(client);
    SSL_CTX_free(context);
    close(fd);
}

// Threads write to many streams while their peers read slowly and send input, for which the loop settles.
TEST_F(TlsLentTest, ThreadsWriteWhatTheLoopLendsWhileItReads) {
    start(Senders::Mode::kThreads, 2);
    struct Connection {
        StreamPair pair;
        std::unique_ptr<Lender> lender;
        std::string text, got, asked, heard;
        size_t accepted = 0;
    };
    std::vector<Connection> all(8);
    for (Connection& one : all) {
        one.pair = testing::with_tls(local_pair(true));
        one.lender = std::make_unique<Lender>(*senders, *one.pair.server);
        one.text = pattern(300'000, static_cast<uint32_t>(&one - all.data()));
    }
    uint32_t random = 1;
    const auto next = [&] { return (random = random * 1664525 + 1013904223) >> 16; };
    const auto is_done = [](const Connection& one) { return one.got.size() == one.text.size(); };
    std::array<uint8_t, 20'000> buffer;
    for (int round = 0; round < 20'000 && !std::ranges::all_of(all, is_done); ++round) {
        for (Connection& one : all) {
            const size_t bytes = std::min<size_t>(1 + next() % 20'000, one.text.size() - one.accepted);
            if (bytes > 0 && !one.lender->is_lent())
                (void)one.lender->lend(std::string_view(one.text).substr(one.accepted, bytes), 1 + next() % 16);
            if (next() % 8 == 0) {
                one.asked += "question ";
                ASSERT_TRUE(ok(one.pair.client->try_write(testing::bytes("question "))));
            }
            auto got = one.pair.client->try_read(std::span(buffer).first(1 + next() % buffer.size()));
            ASSERT_TRUE(ok(got));
            one.got += testing::text(std::span(buffer).first(got->bytes));
        }
        if (next() % 2 == 0) senders->publish();
        if (next() % 4 == 0) (void)sleep_ms(0);
        for (Connection& one : all) {
            if (!one.lender->is_lent() || next() % 2 == 0) continue;
            const auto accepted = one.lender->settle();
            ASSERT_TRUE(ok(accepted));
            one.accepted += *accepted;
            auto heard = one.pair.server->try_read(buffer);
            ASSERT_TRUE(ok(heard));
            one.heard += testing::text(std::span(buffer).first(heard->bytes));
        }
    }
    for (Connection& one : all) {
        if (one.lender->is_lent()) {
            ASSERT_TRUE(ok(one.lender->settle()));
        }
        EXPECT_TRUE(same(one.got, one.text));
        one.heard += read_all(*one.pair.server);
        EXPECT_EQ(one.heard, one.asked);
    }
    EXPECT_GT(senders->stats().threads[0].entries + senders->stats().threads[1].entries, 100u);
}

// ---- A coroutine that waits for it

class WriteBySenderTest : public TlsLentTest {
  protected:
    void TearDown() override { stop_senders(); }
    Senders& install(Senders::Mode mode) {
        install_senders(*Senders::start(1, mode));
        return *runtime::senders();
    }
    static base::Result<size_t> write(ByteStream& stream, std::string_view text) {
        const iovec parts[] = {{const_cast<char*>(text.data()), text.size() / 2},
                               {const_cast<char*>(text.data()) + text.size() / 2, text.size() - text.size() / 2}};
        return write_by_sender(stream, parts);
    }
};

TEST_F(WriteBySenderTest, WaitsForTheThread) {
    Senders& threads = install(Senders::Mode::kThreads);
    auto [client, server] = testing::with_tls(local_pair(false));
    const std::string text = pattern(100'000, 11);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(write(*server, text).value_or(0), text.size());
        EXPECT_TRUE(same(read_all(*client), text));
    }
    EXPECT_EQ(threads.stats().jobs, 3u);
    EXPECT_EQ(threads.stats().awaited, 0u) << "the loop did not block for it";
    client.reset();
    EXPECT_TRUE(failed_with(write(*server, text), Code::kClosed));
}

TEST_F(WriteBySenderTest, ASlowPeerGetsAllOfIt) {
    install(Senders::Mode::kThreads);
    auto [client, server] = testing::with_tls(local_pair(true));
    const std::string text = pattern(400'000, 12);
    auto writer = spawn("writer", [&, server = server.get()] {
        for (size_t sent = 0; sent < text.size();) {
            const auto taken = write(*server, std::string_view(text).substr(sent));
            ASSERT_TRUE(ok(taken));
            sent += *taken;
            ASSERT_TRUE(ok(server->await_writable(soon(), *taken)));
        }
    });
    std::string got;
    while (!writer.done()) got += read_all(*client);
    EXPECT_TRUE(ok(writer.join(soon())));
    EXPECT_TRUE(same(got + read_all(*client), text));
}

TEST_F(WriteBySenderTest, WhoIsCancelledLeavesNoJob) {
    for (const bool begun : {false, true}) {
        Senders& threads = install(Senders::Mode::kManual);
        auto [client, server] = testing::with_tls(local_pair(false));
        const std::string text = pattern(50'000, 13);
        base::Result<size_t> written;
        auto writer = spawn("writer", [&, server = server.get()] { written = write(*server, text); });
        ASSERT_TRUE(ok(sleep_ms(1)));
        if (begun) threads.begin_job(0);
        writer.cancel_and_join();
        EXPECT_TRUE(failed_with(written, Code::kCancelled));
        (void)threads.run(0);
        EXPECT_EQ(read_all(*client).size(), begun ? text.size() : 0u);
        stop_senders();
    }
}

TEST_F(WriteBySenderTest, WithoutThreadsTheLoopWrites) {
    auto [client, server] = testing::with_tls(local_pair(false));
    EXPECT_EQ(write(*server, "by the loop").value_or(0), 11u);
    EXPECT_EQ(read_all(*client), "by the loop");
}

}  // namespace
}  // namespace runtime
