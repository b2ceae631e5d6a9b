#include "runtime/socket/tls.h"

#include <malloc.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "runtime/loop/sync.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/stream_testing.h"
#include "runtime/socket/tcp.h"
#include "runtime/socket/tls_testing.h"
#include "runtime/threads/compute.h"

namespace runtime {
namespace {

using base::Code;
using testing::bytes;
using testing::certificate_files;
using testing::failed_with;
using testing::ok;
using testing::soon;
using testing::StreamPair;
using testing::text;

class TlsTest : public testing::RuntimeTest {
  protected:
    static StreamPair plain() {
        auto listener = listen_tcp({"127.0.0.1", 0});
        EXPECT_TRUE(ok(listener));
        auto client = connect_tcp("127.0.0.1", (*listener)->port(), soon());
        auto server = (*listener)->accept(soon());
        EXPECT_TRUE(ok(client) && ok(server));
        return {*std::move(client), *std::move(server)};
    }
    static StreamPair connected() { return testing::with_tls(plain()); }
    static std::string read_text(ByteStream& stream) {
        auto got = read_shared(stream, soon());
        EXPECT_TRUE(ok(got));
        return got ? text(*got) : "";
    }
};

TEST_F(TlsTest, Echo) {
    auto [client, server] = connected();
    ASSERT_TRUE(client && server);
    EXPECT_TRUE(server->is_tls());
    EXPECT_EQ(server->plain_fd(), -1);
    EXPECT_EQ(server->peer_ip(), "127.0.0.1");
    for (int i = 0; i < 50; ++i) {
        const std::string line = "line " + std::to_string(i);
        ASSERT_TRUE(ok(client->write(bytes(line), soon())));
        ASSERT_EQ(read_text(*server), line);
        ASSERT_TRUE(ok(server->write(bytes(line), soon())));
        ASSERT_EQ(read_text(*client), line);
    }
    EXPECT_TRUE(failed_with(read_shared(*client, Deadline::in_ms(20)), Code::kTimeout));
}

// The buffer for output has over 80 kB, and a thread of its own shakes hands for the server.
TEST_F(TlsTest, AnIdleConnectionKeepsNoBufferForOutput) {
    constexpr size_t kPairs = 16, kMaxBytes = 80'000;
    const auto in_use = [] { return mallinfo2().uordblks; };
    const StreamPair first = connected();
    const size_t before = in_use();
    std::vector<StreamPair> pairs;
    while (pairs.size() < kPairs) pairs.push_back(connected());
    EXPECT_LT((in_use() - before) / kPairs, kMaxBytes) << "of both ends";
}

TEST_F(TlsTest, MuchData) {
    auto [client, server] = connected();
    std::string big(5'000'000, 0);
    for (size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * 31 >> 3);
    auto writer = spawn("writer", [&] {
        std::vector<iovec> parts;  // of growing sizes, some empty
        for (size_t at = 0, n = 0; at < big.size(); at += n, n = n < 40'000 ? n + 7 : 0) {
            parts.push_back({big.data() + at, std::min(n, big.size() - at)});
            if (n == 0) n = 0;
        }
        ASSERT_TRUE(ok(client->writev(parts, soon())));
        client->shutdown_write();
    });
    std::string got;
    while (true) {
        const std::string some = read_text(*server);
        if (some.empty()) break;
        got += some;
    }
    EXPECT_EQ(got.size(), big.size());
    EXPECT_TRUE(got == big);
    ASSERT_TRUE(ok(server->write(bytes("received"), soon())));
    EXPECT_EQ(read_text(*client), "received");
    EXPECT_TRUE(ok(writer.join(soon())));
}

TEST_F(TlsTest, EndOfStream) {
    auto pair = connected();
    ASSERT_TRUE(ok(pair.client->write(bytes("last words"), soon())));
    pair.client.reset();
    EXPECT_EQ(read_text(*pair.server), "last words");
    EXPECT_EQ(read_text(*pair.server), "");
    EXPECT_EQ(read_text(*pair.server), "");
}

TEST_F(TlsTest, ClientAndServerAgreeOnAProtocol) {
    struct Case {
        std::vector<std::string_view> offered, known;
        std::string_view agreed;
    };
    for (const Case& c : {Case{{"h2", "http/1.1"}, {"http/1.1", "h2"}, "http/1.1"}, Case{{"h2"}, {"h2"}, "h2"},
                          Case{{"h2"}, {"http/1.1"}, ""}, Case{{}, {"h2"}, ""}}) {
        auto pair = plain();
        const auto& files = certificate_files();
        auto acceptor = spawn("acceptor", [&] {
            auto context = tls_server_context(files.certificate, files.key, c.known);
            ASSERT_TRUE(ok(context));
            pair.server = *tls_accept(std::move(pair.server), *context, soon());
        });
        auto client =
            tls_connect(std::move(pair.client), *tls_client_context(false, {}, c.offered), "localhost", soon());
        ASSERT_TRUE(ok(client) && ok(acceptor.join(soon())));
        EXPECT_EQ((*client)->protocol(), c.agreed);
        EXPECT_EQ(pair.server->protocol(), c.agreed);
    }
}

TEST_F(TlsTest, SilentPeerMeetsTheHandshakesDeadline) {
    auto pair = plain();
    auto server = tls_accept(std::move(pair.server), testing::tls_test_context(), Deadline::in_ms(50));
    EXPECT_TRUE(failed_with(server, Code::kTimeout));
}

TEST_F(TlsTest, NotTls) {
    auto pair = plain();
    ASSERT_TRUE(ok(pair.client->write(bytes("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), soon())));
    auto server = tls_accept(std::move(pair.server), testing::tls_test_context(), soon());
    ASSERT_TRUE(failed_with(server, Code::kProtocol));
    EXPECT_NE(server.error().text().find("http request"), std::string::npos) << server.error().text();
}

TEST_F(TlsTest, PeerLeavesInTheHandshake) {
    auto pair = plain();
    pair.client.reset();
    EXPECT_TRUE(failed_with(tls_accept(std::move(pair.server), testing::tls_test_context(), soon()), Code::kClosed));
}

TEST_F(TlsTest, AnUntrustedCertificateIsRefused) {
    auto pair = plain();
    auto acceptor = spawn("acceptor", [&] {
        static_cast<void>(tls_accept(std::move(pair.server), testing::tls_test_context(), soon()));
    });
    auto client = tls_connect(std::move(pair.client), *tls_client_context(true), "localhost", soon());
    ASSERT_TRUE(failed_with(client, Code::kRefused));
    EXPECT_NE(client.error().text().find("localhost"), std::string::npos);
    EXPECT_TRUE(ok(acceptor.join(soon())));
}

TEST_F(TlsTest, ContextErrorsNameTheFile) {
    auto missing = tls_server_context("/nonexistent/a.crt", certificate_files().key);
    ASSERT_TRUE(failed_with(missing, Code::kConfig));
    EXPECT_NE(missing.error().text().find("/nonexistent/a.crt: No such file"), std::string::npos)
        << missing.error().text();
    auto swapped = tls_server_context(certificate_files().key, certificate_files().certificate);
    ASSERT_TRUE(failed_with(swapped, Code::kConfig));
    EXPECT_NE(swapped.error().text().find(certificate_files().key), std::string::npos);
}

TEST_F(TlsTest, CancelledWhileReadingAndShakingHands) {
    auto [client, server] = connected();
    auto reader = spawn("reader", [&] { EXPECT_TRUE(failed_with(read_shared(*server, soon()), Code::kCancelled)); });
    auto pair = plain();
    auto shaker = spawn("shaker", [&] {
        EXPECT_TRUE(
            failed_with(tls_accept(std::move(pair.server), testing::tls_test_context(), soon()), Code::kCancelled));
    });
    ASSERT_TRUE(ok(sleep_ms(5)));
    reader.cancel_and_join();
    shaker.cancel_and_join();
}

// Handshakes of many at once are with threads, some are cancelled there, and the others are done.
TEST_F(TlsTest, ServersSignOnThreads) {
    std::vector<Task> shakers, clients;
    size_t done = 0, cancelled = 0, most = 0;
    std::vector<std::shared_ptr<StreamPair>> pairs;
    while (pairs.size() < 40) pairs.push_back(std::make_shared<StreamPair>(plain()));
    for (const auto& pair : pairs) {
        clients.push_back(spawn("client", [pair] {
            (void)tls_connect(std::move(pair->client), *tls_client_context(false), "localhost", soon());
        }));
        shakers.push_back(spawn("shaker", [&, pair] {
            auto server = tls_accept(std::move(pair->server), testing::tls_test_context(), soon());
            ++(server ? done : cancelled);
            EXPECT_TRUE(server || failed_with(server, Code::kCancelled));
        }));
    }
    for (int i = 0; i < 1000 && most == 0; ++i) {
        ASSERT_TRUE(ok(yield()));
        most = computing();
    }
    for (size_t i = 0; i < shakers.size(); i += 4) shakers[i].cancel();
    for (auto& shaker : shakers) {
        most = std::max(most, computing());
        EXPECT_TRUE(ok(shaker.join(soon())));
    }
    EXPECT_EQ(done + cancelled, 40u);
    EXPECT_GE(done, 30u);
    EXPECT_GT(cancelled, 0u);
    EXPECT_LE(most, 8u);
    EXPECT_EQ(computing(), 0u);
    for (auto& client : clients) client.cancel_and_join();
}

TEST_F(TlsTest, TheClientsGreetingComesInPieces) {
    auto pair = plain();
    std::unique_ptr<ByteStream> server;
    auto acceptor = spawn("acceptor", [&] {
        auto accepted = tls_accept(std::move(pair.server), testing::tls_test_context(), soon());
        ASSERT_TRUE(ok(accepted));
        server = *std::move(accepted);
    });
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL* client = SSL_new(context);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    SSL_set_bio(client, in, out);
    for (bool shaken = false; !shaken;) {
        shaken = SSL_connect(client) == 1;
        char* bytes = nullptr;
        const auto size = static_cast<size_t>(BIO_get_mem_data(out, &bytes));
        const std::string flight(bytes, size);
        (void)BIO_reset(out);
        for (size_t at = 0; at < size; at += 50) {
            ASSERT_TRUE(ok(pair.client->write(testing::bytes(std::string_view(flight).substr(at, 50)), soon())));
            ASSERT_TRUE(ok(sleep_ms(1)));
        }
        if (shaken) break;
        const std::string answer = read_text(*pair.client);
        ASSERT_FALSE(answer.empty());
        BIO_write(in, answer.data(), static_cast<int>(answer.size()));
    }
    EXPECT_TRUE(ok(acceptor.join(soon())));
    EXPECT_TRUE(server);
    SSL_free(client);
    SSL_CTX_free(context);
}

struct ReadingHandler final : ParkedHandler {
    explicit ReadingHandler(ByteStream& stream) : stream_(stream) {}
    void on_readable() override {
        std::array<uint8_t, 100> buffer;
        while (true) {
            auto n = stream_.try_read(buffer);
            if (!n || n->end) {
                ended = true;
                break;
            }
            if (!n->bytes) break;
            got += text(std::span(buffer).first(n->bytes));
        }
        noticed.pulse();
    }
    void on_writable() override {
        writable = true;
        noticed.pulse();
    }
    void on_hangup() override {
        ended = true;
        noticed.pulse();
    }
    ByteStream& stream_;
    std::string got;
    bool writable = false, ended = false;
    Event noticed;
};

TEST_F(TlsTest, ParkedReadable) {
    auto [client, server] = connected();
    ReadingHandler handler(*server);
    server->park(handler);
    std::string sent;
    for (int i = 1; i < 30; ++i) {
        const std::string word(static_cast<size_t>(i * 97), static_cast<char>('a' + i % 26));
        sent += word;
        ASSERT_TRUE(ok(client->write(bytes(word), soon())));
        while (handler.got.size() < sent.size()) ASSERT_TRUE(ok(handler.noticed.wait_next(soon())));
    }
    EXPECT_EQ(handler.got, sent);
    client.reset();
    while (!handler.ended) ASSERT_TRUE(ok(handler.noticed.wait_next(soon())));
    server->unpark();
}

// Bytes that OpenSSL has already decrypted cause no event of the socket.
TEST_F(TlsTest, ParkedWithDecryptedBytesLeft) {
    auto [client, server] = connected();
    ASSERT_TRUE(ok(client->write(bytes("first and second"), soon())));
    std::array<uint8_t, 5> five;
    ASSERT_EQ(server->read(five, soon()).value_or(0), 5u);
    ReadingHandler handler(*server);
    server->park(handler);
    EXPECT_EQ(handler.got, "");
    while (handler.got.empty()) ASSERT_TRUE(ok(handler.noticed.wait_next(soon())));
    EXPECT_EQ(handler.got, " and second");
    server->unpark();
}

TEST_F(TlsTest, ParkedWritable) {
    auto [client, server] = connected();
    ReadingHandler handler(*server);
    server->park(handler);
    const std::vector<uint8_t> block(50'000, 'w');
    size_t written = 0;
    while (true) {
        auto n = server->try_write(block);
        ASSERT_TRUE(ok(n));
        written += *n;
        if (*n < block.size()) break;
    }
    EXPECT_EQ(server->try_write(block).value_or(1), 0u);
    size_t got = 0;
    while (got < written) {
        auto some = read_shared(*client, soon());
        ASSERT_TRUE(ok(some));
        ASSERT_FALSE(some->empty());
        for (uint8_t byte : *some) ASSERT_EQ(byte, 'w');
        got += some->size();
    }
    EXPECT_EQ(got, written);
    while (!handler.writable) ASSERT_TRUE(ok(handler.noticed.wait_next(soon())));
    // The next bytes may differ from those that were not accepted before.
    EXPECT_EQ(server->try_write(bytes("other bytes")).value_or(0), 11u);
    EXPECT_EQ(read_text(*client), "other bytes");
    server->unpark();
}

// Fills the buffers between the two while the client does not read; returns how many bytes were accepted.
size_t fill(ByteStream& server) {
    const std::vector<uint8_t> block(50'000, 'w');
    size_t written = 0;
    while (true) {
        auto n = server.try_write(block);
        EXPECT_TRUE(ok(n));
        written += n.value_or(0);
        if (n.value_or(0) < block.size()) return written;
    }
}

TEST_F(TlsTest, TheEndComesBehindAllThatWasAccepted) {
    auto [client, server] = connected();
    ReadingHandler handler(*server);
    server->park(handler);
    const size_t written = fill(*server);
    auto left = server->try_finish();
    ASSERT_TRUE(ok(left));
    EXPECT_GT(*left, 0u);
    size_t got = 0;
    while (true) {
        auto some = read_shared(*client, soon());
        ASSERT_TRUE(ok(some)) << "an end without close_notify is an error";
        if (some->empty()) break;
        got += some->size();
        ASSERT_TRUE(ok(server->try_finish()));
    }
    EXPECT_EQ(got, written);
    // The peer's system may delay its acknowledgement.
    const Deadline limit = soon();
    while (server->try_finish().value_or(0) > 0 && !limit.passed()) ASSERT_TRUE(ok(sleep_ms(5)));
    EXPECT_EQ(server->try_finish().value_or(1), 0u);
    server->unpark();
}

TEST_F(TlsTest, FinishWaitsForASlowReaderAndNotForEver) {
    auto [client, server] = connected();
    const size_t written = fill(*server);
    EXPECT_TRUE(failed_with(server->finish(Deadline::in_ms(30)), Code::kTimeout));
    size_t got = 0;
    auto reader = spawn("reader", [&, stream = client.get()] {
        while (true) {
            auto some = read_shared(*stream, soon());
            ASSERT_TRUE(ok(some));
            if (some->empty()) return;
            got += some->size();
        }
    });
    EXPECT_TRUE(ok(server->finish(soon())));
    server.reset();
    EXPECT_TRUE(ok(reader.join(soon())));
    EXPECT_EQ(got, written);
}

}  // namespace
}  // namespace runtime
