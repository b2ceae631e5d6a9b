#include "runtime/socket/tcp.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "base/log.h"
#include "runtime/loop/sync.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/byte_stream.h"
#include "runtime/socket/stream_testing.h"
#include "runtime/socket/tcp_stream.h"

namespace runtime {
namespace {

using base::Code;
using testing::bytes;
using testing::failed_with;
using testing::ok;
using testing::soon;
using testing::text;

class TcpTest : public testing::RuntimeTest {
  protected:
    struct Pair {
        std::unique_ptr<ByteStream> client;
        std::unique_ptr<ByteStream> server;
    };
    static Pair connected() {
        auto listener = listen_tcp({"127.0.0.1", 0});
        EXPECT_TRUE(ok(listener));
        auto client = connect_tcp("127.0.0.1", (*listener)->port(), soon());
        EXPECT_TRUE(ok(client));
        auto server = (*listener)->accept(soon());
        EXPECT_TRUE(ok(server));
        return {*std::move(client), *std::move(server)};
    }
    static std::string read_text(ByteStream& stream) {
        auto got = read_shared(stream, soon());
        EXPECT_TRUE(ok(got));
        return got ? text(*got) : "";
    }
    // Fills the buffers behind this stream until a write would block; returns how many bytes were accepted.
    static size_t fill(ByteStream& stream) {
        const std::vector<uint8_t> block(64 * 1024, 'f');
        size_t total = 0;
        while (true) {
            auto n = stream.try_write(block);
            if (!ok(n) || *n == 0) return total;
            total += *n;
        }
    }
    static size_t read_all(ByteStream& stream, size_t count) {
        size_t total = 0;
        while (total < count) {
            auto got = read_shared(stream, soon());
            if (!ok(got) || got->empty()) break;
            total += got->size();
        }
        return total;
    }
};

TEST_F(TcpTest, ParsesAddresses) {
    struct Case {
        const char* text;
        const char* ip;
        uint16_t port;
    } good[] = {{"1935", "", 1935},
                {"0.0.0.0:80", "0.0.0.0", 80},
                {"127.0.0.1:1935", "127.0.0.1", 1935},
                {"[::]:1935", "::", 1935},
                {"[2001:db8::1]:65535", "2001:db8::1", 65535},
                {":8080", "", 8080}};
    for (const auto& one : good) {
        auto address = SocketAddress::parse(one.text);
        ASSERT_TRUE(ok(address)) << one.text;
        EXPECT_EQ(address->ip, one.ip);
        EXPECT_EQ(address->port, one.port);
    }
    for (const char* bad :
         {"", ":", "65536", "-1", "80x", "localhost:80", "::1:80", "[127.0.0.1]:80", "1.2.3:80", "[::1]"}) {
        EXPECT_TRUE(failed_with(SocketAddress::parse(bad), Code::kConfig)) << bad;
    }
    EXPECT_EQ((SocketAddress{"::1", 80}.text()), "[::1]:80");
}

TEST_F(TcpTest, Echo) {
    auto [client, server] = connected();
    auto echo = spawn("echo", [&] {
        while (true) {
            auto got = read_shared(*server, soon());
            if (!got || got->empty() || !server->write(*got, soon())) break;
        }
        server.reset();
    });
    for (int i = 0; i < 100; ++i) {
        const std::string line = "line " + std::to_string(i);
        ASSERT_TRUE(ok(client->write(bytes(line), soon())));
        ASSERT_EQ(read_text(*client), line);
    }
    client->shutdown_write();
    EXPECT_EQ(read_text(*client), "");
    EXPECT_TRUE(ok(echo.join(soon())));
}

TEST_F(TcpTest, KnowsItsPeer) {
    auto [client, server] = connected();
    EXPECT_EQ(server->peer_ip(), "127.0.0.1");
    EXPECT_TRUE(server->peer_address().starts_with("127.0.0.1:"));
    EXPECT_FALSE(server->is_tls());
    EXPECT_GE(server->plain_fd(), 0);
}

TEST_F(TcpTest, ListensOnBothFamilies) {
    auto listener = listen_tcp({"", 0});
    ASSERT_TRUE(ok(listener));
    for (const char* ip : {"127.0.0.1", "::1"}) {
        auto client = connect_tcp(ip, (*listener)->port(), soon());
        if (!client) continue;  // a machine without IPv6
        auto server = (*listener)->accept(soon());
        ASSERT_TRUE(ok(server));
        EXPECT_EQ((*server)->peer_ip(), ip);
    }
}

TEST_F(TcpTest, ConnectsByName) {
    auto listener = listen_tcp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(listener));
    EXPECT_TRUE(ok(connect_tcp("localhost", (*listener)->port(), soon())));
}

TEST_F(TcpTest, SaysWhatCannotBeListenedOn) {
    auto first = listen_tcp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(first));
    auto second = listen_tcp({"127.0.0.1", (*first)->port()});
    ASSERT_TRUE(failed_with(second, Code::kSystem));
    EXPECT_EQ(second.error().system_errno(), EADDRINUSE);
    EXPECT_NE(second.error().text().find("127.0.0.1:" + std::to_string((*first)->port())), std::string::npos);
}

TEST_F(TcpTest, RefusedConnection) {
    uint16_t port;
    {
        auto listener = listen_tcp({"127.0.0.1", 0});
        port = (*listener)->port();
    }
    auto client = connect_tcp("127.0.0.1", port, soon());
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().system_errno(), ECONNREFUSED);
}

TEST_F(TcpTest, ManyConnectionsInOneBurst) {
    constexpr int kCount = 300;
    auto listener = listen_tcp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(listener));
    std::vector<std::unique_ptr<ByteStream>> clients;
    for (int i = 0; i < kCount; ++i) {
        auto client = connect_tcp("127.0.0.1", (*listener)->port(), soon());
        ASSERT_TRUE(ok(client));
        clients.push_back(*std::move(client));
    }
    std::vector<std::unique_ptr<ByteStream>> servers;
    for (int i = 0; i < kCount; ++i) {
        auto server = (*listener)->accept(soon());
        ASSERT_TRUE(ok(server));
        servers.push_back(*std::move(server));
    }
    EXPECT_TRUE(failed_with((*listener)->accept(Deadline::in_ms(20)), Code::kTimeout));
}

TEST_F(TcpTest, DeadlineOfARead) {
    auto [client, server] = connected();
    const int64_t start = base::monotonic_ms();
    EXPECT_TRUE(failed_with(read_shared(*client, Deadline::in_ms(50)), Code::kTimeout));
    EXPECT_GE(base::monotonic_ms() - start, 50);
    ASSERT_TRUE(ok(server->write(bytes("late"), soon())));
    EXPECT_EQ(read_text(*client), "late");
}

TEST_F(TcpTest, DeadlineOfAWrite) {
    auto [client, server] = connected();
    fill(*client);
    EXPECT_TRUE(failed_with(client->write(bytes("x"), Deadline::in_ms(50)), Code::kTimeout));
}

TEST_F(TcpTest, WriteWaitsForAReader) {
    auto [client, server] = connected();
    const std::vector<uint8_t> big(20'000'000, 'b');
    base::Result<void> written;
    auto writer = spawn("writer", [&] { written = client->write(big, soon()); });
    EXPECT_EQ(read_all(*server, big.size()), big.size());
    ASSERT_TRUE(ok(writer.join(soon())));
    EXPECT_TRUE(ok(written));
}

TEST_F(TcpTest, WritevOfManyParts) {
    auto [client, server] = connected();
    std::vector<std::string> words;
    std::string all;
    for (int i = 0; i < 3000; ++i) {
        words.push_back(i % 7 ? std::to_string(i) : "");
        all += words.back();
    }
    std::vector<iovec> parts;
    for (auto& word : words) parts.push_back({word.data(), word.size()});
    ASSERT_TRUE(ok(client->writev(parts, soon())));
    client->shutdown_write();
    std::string got;
    for (std::string some; !(some = read_text(*server)).empty();) got += some;
    EXPECT_EQ(got, all);
}

TEST_F(TcpTest, HalfClose) {
    auto [client, server] = connected();
    ASSERT_TRUE(ok(client->write(bytes("question"), soon())));
    client->shutdown_write();
    EXPECT_EQ(read_text(*server), "question");
    EXPECT_EQ(read_text(*server), "");
    EXPECT_EQ(read_text(*server), "");  // again
    ASSERT_TRUE(ok(server->write(bytes("answer"), soon())));
    EXPECT_EQ(read_text(*client), "answer");
}

// The end may be noticed before a short read has taken the last bytes: then no more edge follows.
TEST_F(TcpTest, EndSeenBeforeTheLastBytesAreRead) {
    auto [client, server] = connected();
    ASSERT_TRUE(ok(client->write(bytes("last words"), soon())));
    client.reset();
    ASSERT_TRUE(ok(sleep_ms(20)));  // both edges are consumed
    EXPECT_EQ(read_text(*server), "last words");
    auto got = read_shared(*server, Deadline::in_ms(500));
    ASSERT_TRUE(ok(got));
    EXPECT_TRUE(got->empty());
}

TEST_F(TcpTest, EndAfterAShortRead) {
    auto [client, server] = connected();
    ASSERT_TRUE(ok(client->write(bytes("words"), soon())));
    EXPECT_EQ(read_text(*server), "words");
    auto reader = spawn("reader", [&] { EXPECT_EQ(read_text(*server), ""); });
    ASSERT_TRUE(ok(sleep_ms(10)));
    client.reset();
    EXPECT_TRUE(ok(reader.join(soon())));
}

TEST_F(TcpTest, ResetIsClosed) {
    auto [client, server] = connected();
    const linger hard{1, 0};
    setsockopt(client->plain_fd(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    client.reset();
    EXPECT_TRUE(failed_with(read_shared(*server, soon()), Code::kClosed));
    EXPECT_TRUE(failed_with(server->write(bytes("x"), soon()), Code::kClosed));
}

TEST_F(TcpTest, PeerGone) {
    auto [client, server] = connected();
    EXPECT_FALSE(server->peer_gone());
    ASSERT_TRUE(ok(client->write(bytes("x"), soon())));
    EXPECT_FALSE(server->peer_gone());
    client.reset();
    EXPECT_TRUE(server->peer_gone());
}

TEST_F(TcpTest, TheEndCancelsWhoWaitsForSomethingElse) {
    for (const bool bytes_first : {false, true}) {
        for (const bool ended_before : {false, true}) {
            auto pair = connected();
            if (bytes_first) {
                ASSERT_TRUE(ok(pair.client->write(bytes("unread"), soon())));
            }
            if (ended_before) {
                pair.client.reset();
                ASSERT_TRUE(ok(sleep_ms(20)));
            }
            base::Result<void> waited;
            auto task = spawn("waits", [&] {
                const EndWatch watch(pair.server.get());
                waited = sleep_ms(60'000);
            });
            ASSERT_TRUE(ok(sleep_ms(20)));
            EXPECT_EQ(task.done(), ended_before);
            pair.client.reset();
            ASSERT_TRUE(ok(task.join(soon())));
            EXPECT_TRUE(failed_with(waited, Code::kCancelled));
        }
    }
}

TEST_F(TcpTest, AStreamThatWasWatchedIsReadAsBefore) {
    auto pair = connected();
    {
        const EndWatch watch(pair.server.get());
        ASSERT_TRUE(ok(pair.client->write(bytes("while it was watched"), soon())));
        ASSERT_TRUE(ok(sleep_ms(20)));
        EXPECT_FALSE(cancelled());
    }
    EXPECT_EQ(read_text(*pair.server), "while it was watched");
    auto task = spawn("reads", [&] { EXPECT_EQ(read_text(*pair.server), "later"); });
    ASSERT_TRUE(ok(sleep_ms(20)));
    ASSERT_TRUE(ok(pair.client->write(bytes("later"), soon())));
    ASSERT_TRUE(ok(task.join(soon())));
    pair.client.reset();
    ASSERT_TRUE(ok(sleep_ms(20)));
    EXPECT_FALSE(cancelled());
    const EndWatch none(nullptr);
}

TEST_F(TcpTest, CancelledInEveryCall) {
    auto listener = listen_tcp({"127.0.0.1", 0});
    auto [client, server] = connected();
    fill(*client);
    std::vector<std::pair<const char*, std::move_only_function<bool()>>> calls;
    calls.emplace_back("accept", [&] { return failed_with((*listener)->accept(soon()), Code::kCancelled) == true; });
    calls.emplace_back("read", [&] { return failed_with(read_shared(*client, soon()), Code::kCancelled) == true; });
    calls.emplace_back("write",
                       [&] { return failed_with(client->write(bytes("x"), soon()), Code::kCancelled) == true; });
    calls.emplace_back("connect", [&] {
        // 198.51.100.0/24 is reserved for documentation: no host answers there.
        auto result = connect_tcp("198.51.100.1", 9, soon());
        return !result && (result.error().code() == Code::kCancelled || result.error().code() == Code::kSystem);
    });
    for (auto& [name, call] : calls) {
        bool right = false;
        auto task = spawn(name, [&] { right = call() && cancelled(); });
        ASSERT_TRUE(ok(sleep_ms(5)));
        const int64_t start = base::monotonic_ms();
        task.cancel_and_join();
        EXPECT_LT(base::monotonic_ms() - start, 1000) << name;
        if (std::string_view(name) != "connect") {
            EXPECT_TRUE(right) << name;
        }
    }
}

struct NotingHandler final : ParkedHandler {
    void on_readable() override { record("readable"), run(during_readable); }
    void on_writable() override { record("writable"), run(during_writable); }
    void on_hangup() override { record("hangup"), run(during_hangup); }
    void record(const char* what) {
        seen.emplace_back(what);
        noticed.pulse();
    }
    static void run(std::move_only_function<void()>& action) {
        if (action) action();
    }
    bool saw(const char* what) {
        while (std::find(seen.begin(), seen.end(), what) == seen.end()) {
            if (!noticed.wait_next(Deadline::in_ms(2000))) return false;
        }
        return true;
    }
    std::vector<std::string> seen;
    Event noticed;
    std::move_only_function<void()> during_readable, during_writable, during_hangup;
};

TEST_F(TcpTest, ParkedReadable) {
    auto [client, server] = connected();
    NotingHandler handler;
    std::string got;
    handler.during_readable = [&] {
        std::array<uint8_t, 64> buffer;
        while (true) {
            auto n = server->try_read(buffer);
            ASSERT_TRUE(ok(n));
            if (!n->bytes) break;
            got += text(std::span(buffer).first(n->bytes));
        }
    };
    server->park(handler);
    for (const char* word : {"one", "two", "three"}) {
        got.clear();
        handler.seen.clear();
        ASSERT_TRUE(ok(client->write(bytes(word), soon())));
        while (got.empty()) {
            ASSERT_TRUE(handler.saw("readable")) << word;
            handler.seen.clear();
        }
        EXPECT_EQ(got, word);
    }
    server->unpark();
    ASSERT_TRUE(ok(client->write(bytes("attached again"), soon())));
    EXPECT_EQ(read_text(*server), "attached again");
}

TEST_F(TcpTest, ParkedWithInputThere) {
    auto [client, server] = connected();
    ASSERT_TRUE(ok(client->write(bytes("early"), soon())));
    ASSERT_TRUE(ok(sleep_ms(10)));
    NotingHandler handler;
    server->park(handler);
    EXPECT_TRUE(handler.seen.empty());  // not from inside park()
    EXPECT_TRUE(handler.saw("readable"));
}

TEST_F(TcpTest, ParkedWritable) {
    auto [client, server] = connected();
    NotingHandler handler;
    server->park(handler);
    ASSERT_TRUE(ok(sleep_ms(5)));
    EXPECT_EQ(std::count(handler.seen.begin(), handler.seen.end(), "writable"), 0);
    const size_t filled = fill(*server);
    EXPECT_EQ(read_all(*client, filled), filled);
    EXPECT_TRUE(handler.saw("writable"));
    EXPECT_GT(server->try_write(bytes("more")).value_or(0), 0u);
}

TEST_F(TcpTest, ParkedHangup) {
    auto [client, server] = connected();
    NotingHandler handler;
    server->park(handler);
    const linger hard{1, 0};
    setsockopt(client->plain_fd(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    client.reset();
    EXPECT_TRUE(handler.saw("hangup"));
}

TEST_F(TcpTest, ParkedEnd) {
    auto [client, server] = connected();
    NotingHandler handler;
    bool end = false;
    handler.during_readable = [&] {
        std::array<uint8_t, 64> buffer;
        auto got = server->try_read(buffer);
        if (got) end = got->end;
    };
    server->park(handler);
    ASSERT_TRUE(ok(sleep_ms(5)));
    handler.seen.clear();
    client.reset();
    EXPECT_TRUE(handler.saw("readable"));
    EXPECT_TRUE(end);
}

TEST_F(TcpTest, EachCallOfAParkedHandlerIsAnEvent) {
    auto first = connected();
    auto second = connected();
    NotingHandler handler_one, handler_two;
    std::vector<int64_t> times;
    const auto record_time = [&] {
        times.push_back(event_us());
        testing::work_us(100);
        EXPECT_EQ(event_us(), times.back());
    };
    handler_one.during_readable = record_time;
    handler_two.during_readable = record_time;
    // Both are delivered in one batch.
    ASSERT_TRUE(ok(first.client->write(bytes("x"), soon())));
    ASSERT_TRUE(ok(second.client->write(bytes("x"), soon())));
    first.server->park(handler_one);
    second.server->park(handler_two);
    EXPECT_TRUE(handler_one.saw("readable"));
    EXPECT_TRUE(handler_two.saw("readable"));
    ASSERT_EQ(times.size(), 2u);
    EXPECT_GE(times[1], times[0] + 100);
}

TEST_F(TcpTest, ParkedHandlerMayDestroyTheStream) {
    for (auto NotingHandler::*when : {&NotingHandler::during_readable, &NotingHandler::during_hangup}) {
        auto pair = connected();
        NotingHandler handler;
        handler.*when = [&] { pair.server.reset(); };
        ASSERT_TRUE(ok(pair.client->write(bytes("x"), soon())));
        ASSERT_TRUE(ok(sleep_ms(5)));
        if (when == &NotingHandler::during_hangup) {
            const linger hard{1, 0};
            setsockopt(pair.client->plain_fd(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
            pair.client.reset();
        }
        pair.server->park(handler);
        while (pair.server) ASSERT_TRUE(ok(handler.noticed.wait_next(soon())));
    }
}

// Two events in one batch: the first one's handler closes the second one's descriptor and opens another under the same
// number. The stale event must reach neither the freed stream nor the new one.
TEST_F(TcpTest, EventOfADescriptorReusedInTheSameBatch) {
    auto first = connected();
    auto second = connected();
    const int fd = second.server->plain_fd();
    NotingHandler handler_one, handler_two, handler_new;
    std::unique_ptr<ByteStream> fresh;
    int peer_of_fresh = -1;
    const auto replace = [&](std::unique_ptr<ByteStream>& victim, int number) {
        if (fresh || !victim) return;
        victim.reset();
        int pair[2];
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        peer_of_fresh = pair[1] == number ? pair[0] : pair[1];
        auto stream = detail::TcpStream::make(pair[1] == number ? pair[1] : pair[0], {});
        ASSERT_TRUE(ok(stream));
        ASSERT_EQ((*stream)->plain_fd(), number);
        (*stream)->watch().read_would_block();
        (*stream)->park(handler_new);
        fresh = *std::move(stream);
    };
    first.server->park(handler_one);
    second.server->park(handler_two);
    ASSERT_TRUE(ok(sleep_ms(5)));
    handler_one.seen.clear();
    handler_two.seen.clear();
    handler_one.during_readable = [&] { replace(second.server, fd); };
    const auto stale = detail::reactor_counters().stale;
    // Written without yielding in between, so that one epoll_wait returns both, the first one first.
    ASSERT_EQ(::send(first.client->plain_fd(), "x", 1, 0), 1);
    ASSERT_EQ(::send(second.client->plain_fd(), "x", 1, 0), 1);
    ASSERT_TRUE(handler_one.saw("readable"));
    ASSERT_TRUE(ok(sleep_ms(5)));
    ASSERT_TRUE(fresh);
    EXPECT_EQ(handler_two.seen, std::vector<std::string>{});
    EXPECT_EQ(handler_new.seen, std::vector<std::string>{});
    EXPECT_EQ(detail::reactor_counters().stale, stale + 1);
    ::close(peer_of_fresh);
    EXPECT_TRUE(handler_new.saw("readable"));
}

TEST_F(TcpTest, AStreamIsSmall) { EXPECT_LE(sizeof(detail::TcpStream), 64u); }

// A peer that always sends more must not keep the others from running.
TEST_F(TcpTest, AFastReaderLetsOthersRun) {
    auto [client, server] = connected();
    bool stop = false;
    auto writer = spawn("writer", [&] {
        const std::vector<uint8_t> block(256 * 1024, 'w');
        while (!stop && client->write(block, soon())) {
        }
        client.reset();
    });
    auto reader = spawn("reader", [&] {
        while (true) {
            auto got = read_shared(*server, soon());
            if (!got || got->empty()) return;
        }
    });
    int64_t worst = 0;
    for (int i = 0; i < 50; ++i) {
        const int64_t start = base::monotonic_ms();
        ASSERT_TRUE(ok(sleep_ms(1)));
        worst = std::max(worst, base::monotonic_ms() - start);
    }
    stop = true;
    EXPECT_TRUE(ok(writer.join(soon())));
    EXPECT_TRUE(ok(reader.join(soon())));
    EXPECT_LT(worst, 500);
}

TEST_F(TcpTest, AcceptSurvivesRunningOutOfDescriptors) {
    auto listener = listen_tcp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(listener));
    auto client = connect_tcp("127.0.0.1", (*listener)->port(), soon());
    ASSERT_TRUE(ok(client));
    rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit tight{3, before.rlim_max};
    // No log line meanwhile: the sanitizers themselves need descriptors to check the memory that logging uses.
    const auto level = std::exchange(base::log::active_level, base::log::Level::kOff);
    setrlimit(RLIMIT_NOFILE, &tight);
    auto refused = (*listener)->accept(Deadline::in_ms(50));
    setrlimit(RLIMIT_NOFILE, &before);
    base::log::active_level = level;
    EXPECT_TRUE(failed_with(refused, Code::kTimeout));
    EXPECT_TRUE(ok((*listener)->accept(soon())));
}

}  // namespace
}  // namespace runtime
