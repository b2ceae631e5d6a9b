#include "net/http/http_server.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <future>

#include "base/clock.h"
#include "net/http/http_testing.h"
#include "net/http/static_files.h"
#include "runtime/loop/testing.h"
#include "runtime/threads/workers.h"

namespace net {
namespace {

using runtime::testing::ok;
using testing::RawClient;

class HttpServerTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        options.request_timeout_ms = 400;
        options.body_timeout_ms = 400;
        options.idle_timeout_ms = 600;
        route({http::Method::kGet}, "/hello", [](HttpRequest& request, HttpResponse& response) {
            return response.send(200, "text/plain",
                                 "hello " + std::string(request.message.parameter("name")) + request.message.body);
        });
        route({http::Method::kPost}, "/echo", [](HttpRequest& request, HttpResponse& response) {
            return response.send(200, "text/plain", request.message.body);
        });
        route({http::Method::kGet}, "/chunks", [this](HttpRequest&, HttpResponse& response) -> base::Result<void> {
            response.observe_body([this](size_t bytes) { pieces.push_back(bytes); });
            TRY(response.begin(200, "text/plain", std::nullopt));
            for (int i = 0; i < 3; ++i) TRY(response.write(base::Slice::copy("piece;")));
            return {};
        });
        route({http::Method::kGet}, "/fails", [](HttpRequest&, HttpResponse&) -> base::Result<void> {
            return base::fail(base::Code::kOther, "broken");
        });
        route({http::Method::kGet}, "/short", [](HttpRequest&, HttpResponse& response) -> base::Result<void> {
            TRY(response.begin(200, "text/plain", 100));
            return response.write(base::Slice::copy("abc"));
        });
        route({http::Method::kGet}, "/passes", [](HttpRequest&, HttpResponse&) { return base::Result<void>(); });
        route({http::Method::kGet}, "/take", [this](HttpRequest&, HttpResponse& response) -> base::Result<void> {
            taken = TRY(response.detach(200, "video/x-flv"));
            TRY(taken.stream->write(base::Slice::copy(taken.first), runtime::Deadline::in_ms(1000)));
            return {};
        });
    }
    void TearDown() override {
        taken.stream.reset();
        server.reset();
        EXPECT_EQ(sessions.size(), 0u);
    }
    void route(std::vector<http::Method> methods, std::string pattern, HttpHandler handler) {
        HttpRoute route;
        route.methods = std::move(methods);
        route.pattern = std::move(pattern);
        route.handler = std::move(handler);
        route.body_limit_bytes = 1000;
        router.add(std::move(route));
    }
    uint16_t start() {
        server = std::make_unique<HttpServer>(sessions, router, options);
        EXPECT_TRUE(ok(server->listen({"127.0.0.1", 0})));
        return server->port();
    }
    testing::Answer ask(std::string_view text, bool to_head = false) {
        RawClient client(server->port());
        client.send(text);
        return client.read(to_head);
    }

    std::vector<size_t> pieces;
    SessionTable sessions;
    HttpRouter router;
    HttpServerOptions options;
    std::unique_ptr<HttpServer> server;
    HttpResponse::Detached taken;
};

TEST_F(HttpServerTest, Answers) {
    start();
    auto answer = ask("GET /hello?name=you HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "hello you");
    EXPECT_EQ(answer.header("Connection"), "keep-alive");
    EXPECT_EQ(answer.header("Access-Control-Allow-Origin"), "*");
    EXPECT_EQ(answer.header("Server"), "SRS");
    EXPECT_FALSE(answer.header("Date").empty());
    auto head = ask("HEAD /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", true);
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.header("Content-Length"), "6");
    EXPECT_EQ(head.body, "");
    EXPECT_EQ(ask("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n").status, 404);
    EXPECT_EQ(ask("GET /passes HTTP/1.1\r\nHost: a\r\n\r\n").status, 404);
    auto wrong = ask("DELETE /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(wrong.status, 405);
    EXPECT_EQ(wrong.header("Allow"), "GET, HEAD, OPTIONS");
    EXPECT_EQ(ask("GET /fails HTTP/1.1\r\nHost: a\r\n\r\n").status, 500);
}

TEST_F(HttpServerTest, KeepsAliveAndPipelines) {
    start();
    RawClient client(server->port());
    std::string many;
    for (int i = 0; i < 50; ++i) {
        many += fmt::format("GET /hello?name={} HTTP/1.1\r\nHost: a\r\n\r\n", i);
        many += fmt::format("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n{:03}", i);
    }
    client.send(many);
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(client.read().body, fmt::format("hello {}", i));
        EXPECT_EQ(client.read().body, fmt::format("{:03}", i));
    }
    client.send("GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(client.read().header("Connection"), "close");
    EXPECT_TRUE(client.sees_close());
    EXPECT_EQ(server->counters().requests, 101u);
    EXPECT_EQ(server->counters().connections, 1u);
}

TEST_F(HttpServerTest, WhatNoMethodOfAPathIsGetsIts405) {
    start();
    RawClient client(server->port());
    for (std::string_view method : {"TRACE", "BREW", "PROPFIND", "QUERY", "DELETE"}) {
        client.send(fmt::format("{} /hello HTTP/1.1\r\nHost: a\r\n\r\n", method));
        auto answer = client.read();
        EXPECT_EQ(answer.status, 405) << method;
        EXPECT_EQ(answer.header("Allow"), "GET, HEAD, OPTIONS") << method;
        client.send(fmt::format("{} /nowhere HTTP/1.1\r\nHost: a\r\n\r\n", method));
        EXPECT_EQ(client.read().status, 404) << method;
    }
}

TEST_F(HttpServerTest, LimitsRequestsPerConnection) {
    options.requests_per_connection = 2;
    start();
    RawClient client(server->port());
    client.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(client.read().header("Connection"), "keep-alive");
    EXPECT_EQ(client.read().header("Connection"), "close");
    EXPECT_TRUE(client.sees_close());
}

TEST_F(HttpServerTest, ABodyIsCountedAsItGoes) {
    start();
    EXPECT_EQ(ask("GET /chunks HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
    EXPECT_EQ(pieces, (std::vector<size_t>{6, 6, 6}));
}

TEST_F(HttpServerTest, ChunksAndOldClients) {
    start();
    auto chunked = ask("GET /chunks HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(chunked.body, "piece;piece;piece;");
    EXPECT_TRUE(chunked.complete);
    EXPECT_EQ(chunked.header("Transfer-Encoding"), "chunked");
    auto old = ask("GET /chunks HTTP/1.0\r\n\r\n");
    EXPECT_EQ(old.body, "piece;piece;piece;");
    EXPECT_TRUE(old.complete);
    EXPECT_EQ(old.header("Transfer-Encoding"), "");
    auto alive = ask("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(alive.header("Connection"), "keep-alive");
    EXPECT_FALSE(ask("GET /short HTTP/1.1\r\nHost: a\r\n\r\n").complete);
}

TEST_F(HttpServerTest, RefusesTheMalformed) {
    options.limits.header_bytes = 2000;
    options.limits.target_bytes = 1000;
    start();
    struct {
        std::string text;
        int status;
    } table[] = {
        {"nonsense\r\n\r\n", 400},
        {std::string("\x16\x03\x01\x00\xff\x01\x00", 7), 400},
        {"GET /hello HTTP/1.1\r\n\r\n", 400},
        {"GET /hello HTTP/1.1\nHost: a\n\n", 400},
        {"GET /../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /hello HTTP/3.0\r\nHost: a\r\n\r\n", 505},
        {"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 501},
        {"GET /" + std::string(1500, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", 414},
        {"GET /hello HTTP/1.1\r\nHost: a\r\nX: " + std::string(3000, 'a') + "\r\n\r\n", 431},
        {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n", 413},
        {"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
        {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"GET /hello HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", 417},
    };
    for (auto& row : table) {
        RawClient client(server->port());
        client.send(row.text);
        EXPECT_EQ(client.read().status, row.status) << row.text.substr(0, 60);
        EXPECT_TRUE(client.sees_close()) << row.text.substr(0, 60);
    }
    EXPECT_EQ(server->counters().bad_requests, std::size(table));
    EXPECT_EQ(ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
}

TEST_F(HttpServerTest, TheAnswerToABodyThatIsStillComingIsReadable) {
    start();
    RawClient client(server->port());
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + std::string(100000, 'x'));
    EXPECT_EQ(client.read().status, 413);
}

TEST_F(HttpServerTest, ARouteMayTakeABodyThatIsNotKept) {
    size_t bytes = 0, wanted = SIZE_MAX;
    int64_t pause_us = 0;
    bool is_there = true;
    HttpRoute taking;
    taking.methods = {http::Method::kPost};
    taking.pattern = "/taking";
    taking.body_limit_bytes = 1'000'000;
    taking.drain = [&](const http::Request& head, size_t more) -> base::Result<int64_t> {
        EXPECT_EQ(head.parameter("name"), "you");
        bytes += more;
        if (bytes > wanted) return base::fail(is_there ? base::Code::kRefused : base::Code::kNotFound, "no more");
        return pause_us;
    };
    taking.handler = [](HttpRequest& request, HttpResponse& response) {
        return response.send(200, "text/plain", fmt::format("{} kept", request.message.body.size()));
    };
    router.add(std::move(taking));
    start();
    RawClient client(server->port());
    const std::string head = "POST /taking?name=you HTTP/1.1\r\nHost: a\r\n";
    const std::string body(300'000, 'x');
    for (int i = 1; i <= 2; ++i) {
        client.send(head + "Content-Length: 300000\r\n\r\n" + body + "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_EQ(client.read().body, "0 kept");
        EXPECT_EQ(client.read().body, "hello ") << "what comes behind the body is another request";
        EXPECT_EQ(bytes, static_cast<size_t>(i) * 300'000);
    }
    client.send(head + "Content-Length: 0\r\n\r\n");
    EXPECT_EQ(client.read().body, "0 kept");
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    EXPECT_EQ(client.read().body, "abc") << "other routes keep theirs";
    pause_us = 10'000;
    const int64_t began_us = base::monotonic_us();
    client.send(head + "Content-Length: 300000\r\n\r\n" + body);
    EXPECT_EQ(client.read().body, "0 kept");
    EXPECT_GE(base::monotonic_us() - began_us, 180'000) << "a pause after each 16 kB that were read";
    bytes = 0;
    wanted = 1000;
    client.send(head + "Content-Length: 300000\r\n\r\n" + body);
    EXPECT_EQ(client.read().status, 413);
    EXPECT_TRUE(client.sees_close());
    is_there = false;
    RawClient next(server->port());
    next.send(head + "Content-Length: 300000\r\n\r\n" + body);
    EXPECT_EQ(next.read().status, 404);
    EXPECT_TRUE(next.sees_close());
}

TEST_F(HttpServerTest, ExpectContinue) {
    start();
    RawClient client(server->port());
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(client.read_bytes(25), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("abc");
    EXPECT_EQ(client.read().body, "abc");
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(client.read().status, 413);
}

TEST_F(HttpServerTest, ABodyThatIsTooLargeMayBeSentToItsEnd) {
    start();
    const auto deadline = runtime::Deadline::in_ms(5000);
    auto stream = runtime::connect_tcp("127.0.0.1", server->port(), deadline);
    ASSERT_TRUE(ok(stream));
    const auto send = [&](std::string_view text) {
        return (*stream)->write({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, deadline);
    };
    EXPECT_TRUE(ok(send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1500000\r\n\r\n")));
    for (int i = 0; i < 15; ++i) {
        ASSERT_TRUE(ok(send(std::string(100'000, 'x')))) << "many clients read no answer after a failed write";
        ASSERT_TRUE(ok(runtime::sleep_ms(5)));
    }
    uint8_t answer[100];
    const auto got = (*stream)->read(answer, deadline);
    ASSERT_TRUE(ok(got));
    EXPECT_TRUE(std::string_view(reinterpret_cast<const char*>(answer), *got).starts_with("HTTP/1.1 413"));
}

TEST_F(HttpServerTest, ClosesTheSilentTheSlowAndTheIdle) {
    start();
    RawClient silent(server->port()), slow(server->port()), slow_body(server->port()), idle(server->port());
    int64_t began = base::monotonic_ms();
    slow_body.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
    idle.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(idle.read().status, 200);
    auto dripping = runtime::spawn("drip", [&] {
        for (char c : std::string_view("GET /hello HTTP/1.1\r\nHost: aaaaaaaaaaaaaaaaaaaaaa\r\n\r\n")) {
            slow.send(std::string_view(&c, 1));
            if (!runtime::sleep_ms(20)) return;
        }
    });
    EXPECT_EQ(slow.read().status, 408);
    dripping.cancel_and_join();
    EXPECT_LT(base::monotonic_ms() - began, 1000);
    EXPECT_EQ(slow_body.read().status, 408);
    EXPECT_TRUE(silent.sees_close());
    EXPECT_TRUE(idle.sees_close());
    EXPECT_LT(base::monotonic_ms() - began, 3000);
}

TEST_F(HttpServerTest, Options) {
    start();
    auto preflight =
        ask("OPTIONS /hello HTTP/1.1\r\nHost: a\r\nOrigin: http://b\r\nAccess-Control-Request-Method: GET\r\n"
            "Access-Control-Request-Headers: x-a\r\n\r\n");
    EXPECT_EQ(preflight.status, 204);
    EXPECT_EQ(preflight.header("Access-Control-Allow-Origin"), "*");
    EXPECT_EQ(preflight.header("Access-Control-Allow-Headers"), "x-a");
    EXPECT_EQ(preflight.header("Allow"), "GET, HEAD, OPTIONS");
    EXPECT_EQ(ask("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").status, 204);
    EXPECT_EQ(ask("OPTIONS /no HTTP/1.1\r\nHost: a\r\n\r\n").status, 404);
    options.response.crossdomain = false;
    server->set_options(options);
    auto plain = ask("OPTIONS /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(plain.status, 204);
    EXPECT_EQ(plain.header("Access-Control-Allow-Origin"), "");
}

TEST_F(HttpServerTest, RefusesWhatIsTooMany) {
    sessions.admission().set_options({2, {}});
    start();
    RawClient a(server->port()), b(server->port());
    a.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    b.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(a.read().status, 200);
    EXPECT_EQ(b.read().status, 200);
    RawClient c(server->port());
    c.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(c.read().status, 503);
    a.close();
    ASSERT_TRUE(ok(runtime::sleep_ms(50)));
    EXPECT_EQ(ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
    EXPECT_EQ(server->counters().refused, 1u);
}

TEST_F(HttpServerTest, RefusesTooManyOfOneAddress) {
    sessions.admission().set_options({0, {1, 0, 1, {}}});
    start();
    RawClient a(server->port());
    a.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(a.read().status, 200);
    RawClient b(server->port());
    b.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto refused = b.read();
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(refused.header("Retry-After"), "5");
    EXPECT_EQ(sessions.admission().refused_total(), 1u);
    EXPECT_EQ(sessions.admission().limiter().counters().too_many, 1u);
    // With another limit the existing connections are counted again.
    sessions.admission().set_options({0, {2, 0, 1, {}}});
    EXPECT_EQ(ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
    sessions.admission().set_options({0, {1, 0, 1, {}}});
    EXPECT_EQ(ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n").status, 429);
    a.close();
    ASSERT_TRUE(ok(runtime::sleep_ms(50)));
    EXPECT_EQ(sessions.admission().limiter().addresses(), 0u);
}

TEST_F(HttpServerTest, NewConnectionsAndIdleOnesMakeRoom) {
    sessions.admission().set_options({2, {}});
    start();
    RawClient silent(server->port()), kept(server->port());
    kept.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(kept.read().status, 200);
    EXPECT_EQ(sessions.admission().embryonic().size(), 1u);
    EXPECT_EQ(sessions.admission().idle().size(), 1u);
    options.request_timeout_ms = options.idle_timeout_ms = 10'000;
    EXPECT_EQ(ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n").status, 503) << "they have just connected";
    // As if both had existed for a second: the one without a request is closed first.
    EXPECT_TRUE(sessions.admission().embryonic().evict_one(base::monotonic_ms(), 0));
    EXPECT_EQ(sessions.admission().connections(), 1u);
    EXPECT_TRUE(silent.sees_close());
    EXPECT_TRUE(sessions.admission().idle().evict_one(base::monotonic_ms(), 0));
    EXPECT_TRUE(kept.sees_close());
    EXPECT_EQ(sessions.admission().connections(), 0u);
    EXPECT_EQ(sessions.closed().count_of(base::CloseReason::kRefusedLimit), 2u);
}

TEST_F(HttpServerTest, TheReserveIsForWhoMayUseIt) {
    sessions.admission().set_options({1, {}});
    options.reserve = 2;
    options.may_use_reserve = [](const http::Request& message, std::string_view ip) {
        return ip == "127.0.0.1" && message.headers.get("Authorization") == "me";
    };
    start();
    RawClient busy(server->port());
    busy.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na");
    ASSERT_TRUE(ok(runtime::sleep_ms(20)));
    const std::string mine = "GET /hello HTTP/1.1\r\nHost: a\r\nAuthorization: me\r\n\r\n";
    EXPECT_EQ(ask(mine).status, 200);
    const auto stranger = ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(stranger.status, 503);
    EXPECT_EQ(stranger.header("Retry-After"), "5");
    EXPECT_EQ(sessions.admission().connections(), 1u);
    // Connections of strangers fill the reserve, and make room.
    RawClient a(server->port()), b(server->port());
    ASSERT_TRUE(ok(runtime::sleep_ms(10)));
    RawClient c(server->port());
    c.send(mine);
    EXPECT_EQ(c.read().status, 200);
    EXPECT_TRUE(a.sees_close());
    // A connection that waits for its next request makes room, too.
    RawClient d(server->port()), e(server->port());
    d.send(mine);
    EXPECT_EQ(d.read().status, 200);
    EXPECT_TRUE(b.sees_close());
    e.send(mine);
    EXPECT_EQ(e.read().status, 200);
    EXPECT_TRUE(c.sees_close());
    EXPECT_EQ(server->counters().refused, 0u);
    // Once there is room, a connection of the reserve is a regular one, for any client.
    busy.send("bc");
    EXPECT_EQ(busy.read().body, "abc");
    busy.close();
    ASSERT_TRUE(ok(runtime::sleep_ms(20)));
    EXPECT_EQ(sessions.admission().connections(), 0u);
    d.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(d.read().status, 200);
    EXPECT_EQ(sessions.admission().connections(), 1u);
}

TEST_F(HttpServerTest, WithoutACoroutineAConnectionIsClosed) {
    start();
    ASSERT_TRUE(ok(runtime::yield()));
    runtime::limit_coroutines(runtime::coroutine_count());
    for (int i = 0; i < 3; ++i) {
        RawClient client(server->port());
        client.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_TRUE(client.sees_close());
        EXPECT_EQ(server->connections(), 0u);
        EXPECT_EQ(sessions.size(), 0u);
    }
    runtime::limit_coroutines(SIZE_MAX);
    EXPECT_EQ(server->counters().refused, 3u);
    EXPECT_EQ(ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
    server->stop();
}

TEST_F(HttpServerTest, AShorterIdleTimeoutIsForIdleConnectionsToo) {
    options.idle_timeout_ms = 60'000;
    start();
    RawClient idle(server->port());
    idle.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(idle.read().status, 200);
    ASSERT_TRUE(ok(runtime::sleep_ms(20)));
    options.idle_timeout_ms = 100;
    server->set_options(options);
    EXPECT_TRUE(idle.sees_close());
}

TEST_F(HttpServerTest, BetweenRequestsAConnectionHasNoCoroutine) {
    options.idle_timeout_ms = 10'000;
    start();
    std::vector<std::unique_ptr<RawClient>> clients;
    const auto ask_each = [&clients] {
        for (auto& client : clients) client->send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
        for (auto& client : clients) EXPECT_EQ(client->read().status, 200);
    };
    const size_t before = runtime::coroutine_count();
    for (int i = 0; i < 100; ++i) clients.push_back(std::make_unique<RawClient>(server->port()));
    ask_each();
    // Some are kept, more for a while.
    for (int i = 0; i < 500 && runtime::coroutine_count() > before + 20; ++i) ASSERT_TRUE(ok(runtime::sleep_ms(10)));
    EXPECT_LE(runtime::coroutine_count(), before + 20);
    ask_each();
    EXPECT_EQ(server->connections(), 100u);
    // One goes with half a request, others without any.
    clients[99]->send("GET /hel");
    clients.resize(50);
    ask_each();
    for (int i = 0; i < 100 && server->connections() > 50; ++i) ASSERT_TRUE(ok(runtime::sleep_ms(5)));
    EXPECT_EQ(server->connections(), 50u);
    server->stop_accepting();
    for (auto& client : clients) EXPECT_TRUE(client->sees_close());
    EXPECT_EQ(server->connections(), 0u);
}

TEST_F(HttpServerTest, TooManyFileJobsAreALimitAndNoFault) {
    route({http::Method::kGet}, "/files/*", [](HttpRequest& request, HttpResponse& response) {
        return StaticFiles("/").serve(request.capture("*"), request, response);
    });
    start();
    // Both workers are blocked, and their queue is full.
    std::promise<void> go;
    const std::shared_future<void> gone = go.get_future().share();
    std::vector<runtime::Task> jobs;
    for (int i = 0; i < 1026; ++i)
        jobs.push_back(runtime::spawn("job", [gone] {
            (void)runtime::offload([gone] { gone.wait(); }, runtime::Deadline::in_ms(10'000)).has_value();
        }));
    ASSERT_TRUE(ok(runtime::yield()));
    const auto answer = ask("GET /files/etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.header("Retry-After"), "5");
    EXPECT_EQ(ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
    go.set_value();
    for (runtime::Task& job : jobs) ASSERT_TRUE(ok(job.join(runtime::Deadline::in_ms(5000))));
    EXPECT_EQ(ask("GET /files/etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
}

TEST_F(HttpServerTest, AHandlerTakesTheStream) {
    start();
    RawClient client(server->port());
    client.send("GET /take HTTP/1.1\r\nHost: a\r\n\r\nearly");
    EXPECT_EQ(client.read(false, 200).status, 200);
    EXPECT_EQ(server->connections(), 0u);
    EXPECT_EQ(sessions.size(), 0u);
    ASSERT_TRUE(taken.stream != nullptr);
    EXPECT_EQ(std::string(taken.early.begin(), taken.early.end()), "early");
    ASSERT_TRUE(ok(taken.stream->write(base::Slice::copy("live"), runtime::Deadline::in_ms(1000))));
    EXPECT_EQ(client.read_bytes(4), "live");
}

TEST_F(HttpServerTest, KicksAndStops) {
    start();
    RawClient a(server->port()), b(server->port());
    a.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(a.read().status, 200);
    b.send("GET /hello HTTP/1.1\r\nHo");
    ASSERT_TRUE(ok(runtime::sleep_ms(20)));
    EXPECT_EQ(sessions.size(), 2u);
    server->stop_accepting();
    EXPECT_TRUE(a.sees_close());
    EXPECT_EQ(sessions.size(), 1u);
    b.send("st: a\r\n\r\n");
    EXPECT_EQ(b.read().header("Connection"), "close");
    EXPECT_TRUE(b.sees_close());
}

// A response that began before has told the client that the connection goes on.
TEST_F(HttpServerTest, GivenOverInTheMiddleOfAResponse) {
    runtime::Event ends("the test's response may end");
    route({http::Method::kGet}, "/long", [&](HttpRequest&, HttpResponse& response) -> base::Result<void> {
        TRY(response.begin(200, "text/plain", std::nullopt));
        TRY(response.write(std::string_view("first ")));
        TRY(ends.wait(runtime::Deadline::in_ms(5000)));
        return response.write(std::string_view("last"));
    });
    start();
    RawClient client(server->port());
    client.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(ok(runtime::sleep_ms(20)));
    server->give_over(true);
    ends.set();
    const auto answer = client.read();
    EXPECT_EQ(answer.body, "first last");
    EXPECT_NE(answer.header("Connection"), "close");
    EXPECT_TRUE(client.sees_close());
}

// What a client asks for by a connection of before, and is not here, is with the process that serves now.
TEST_F(HttpServerTest, WhatIsMissingWhenItIsGivenOver) {
    route({http::Method::kGet}, "/live/*", [](HttpRequest&, HttpResponse&) -> base::Result<void> { return {}; });
    start();
    RawClient first(server->port()), second(server->port()), third(server->port());
    ASSERT_TRUE(ok(runtime::sleep_ms(20)));
    server->give_over(true);
    first.send("GET /live/a:b%20c.m3u8?x=1&y=/2 HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto answer = first.read();
    EXPECT_EQ(answer.status, 307);
    EXPECT_EQ(answer.header("Location"), "./a:b%20c.m3u8?x=1&y=/2");
    EXPECT_EQ(answer.header("Cache-Control"), "no-store");
    EXPECT_EQ(answer.header("Connection"), "close");
    EXPECT_TRUE(first.sees_close());
    second.send("POST /live/a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(second.read().status, 405);
    server->give_over(false);
    third.send("GET /live/a HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(third.read().status, 404);
}

TEST_F(HttpServerTest, AKickedSessionEnds) {
    start();
    RawClient client(server->port());
    client.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(client.read().status, 200);
    sessions.for_each([](Session& session) {
        EXPECT_EQ(session.type(), SessionType::kHttp);
        EXPECT_EQ(session.stream_text(), "/hello (GET 200)");
        session.kick("by the test");
    });
    EXPECT_TRUE(client.sees_close());
}

}  // namespace
}  // namespace net
