#include "net/http/http2_session.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "net/http/http2_testing.h"
#include "net/http/static_files.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/testing.h"

namespace net {
namespace {

using runtime::testing::ok;
using testing::Http2Client;
using testing::Http2Host;

class WaitingOverHttp2 final : public Deferred {
  public:
    explicit WaitingOverHttp2(int& alive) : alive_(alive) { ++alive_; }
    ~WaitingOverHttp2() override { --alive_; }

  private:
    int& alive_;
};

// A viewer: what it may write it is given by the test.
class ParkedViewer final : public runtime::ParkedHandler {
  public:
    void on_readable() override {}
    void on_writable() override { ++writable; }
    void on_hangup() override { gone = true; }
    int writable = 0;
    bool gone = false;
};

class Http2SessionTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        route("/hello", http::Method::kGet, [](HttpRequest& request, HttpResponse& response) {
            response.header("X-Text", " a\r\nb ").header("Connection", "keep-alive");
            return response.send(200, "text/plain", "hello " + std::string(request.message.parameter("name")));
        });
        route("/echo", http::Method::kPost, [](HttpRequest& request, HttpResponse& response) {
            return response.send(200, "text/plain", request.message.body);
        });
        route("/pieces", http::Method::kGet, [](HttpRequest&, HttpResponse& response) -> base::Result<void> {
            TRY(response.begin(200, "text/plain", std::nullopt));
            for (int i = 0; i < 3; ++i) TRY(response.write("piece;"));
            return {};
        });
        route("/large", http::Method::kGet, [this](HttpRequest& request, HttpResponse& response) {
            auto sent = response.send(200, "text/plain",
                                      std::string(std::stoul(std::string(request.message.parameter("n"))), 'x'));
            if (!sent) last_error = sent.error().text();
            return sent;
        });
        route("/short", http::Method::kGet, [](HttpRequest&, HttpResponse& response) -> base::Result<void> {
            TRY(response.begin(200, "text/plain", 100));
            return response.write("abc");
        });
        route("/fails", http::Method::kGet, [](HttpRequest&, HttpResponse&) -> base::Result<void> {
            return base::fail(base::Code::kOther, "broken");
        });
        route("/wait", http::Method::kGet, [this](HttpRequest&, HttpResponse& response) {
            auto waiting = std::make_unique<WaitingOverHttp2>(alive);
            list.add(*waiting);
            return response.defer(std::move(waiting), limit_ms);
        });
        route("/take", http::Method::kGet, [this](HttpRequest&, HttpResponse& response) -> base::Result<void> {
            taken = TRY(response.detach(200, "video/x-flv"));
            taken.stream->park(viewer);
            return {};
        });
        route("/sleep", http::Method::kGet, [this](HttpRequest&, HttpResponse& response) -> base::Result<void> {
            const runtime::EndWatch watch(response.client());
            ++sleeping;
            auto slept = runtime::sleep_ms(5'000);
            --sleeping;
            return slept;
        });
        route("/file", http::Method::kGet, [](HttpRequest& request, HttpResponse& response) {
            return StaticFiles("/usr/include").serve("stdio.h", request, response);
        });
        HttpRoute taking;
        taking.methods = {http::Method::kPost};
        taking.pattern = "/taking";
        taking.body_limit_bytes = 200'000;
        taking.drain = [this](const http::Request&, size_t more) -> base::Result<int64_t> {
            if ((drained += more) > wanted) return base::fail(base::Code::kRefused, "no more");
            return 0;
        };
        taking.handler = [this](HttpRequest& request, HttpResponse& response) {
            return response.send(200, "text/plain", fmt::format("{} kept of {}", request.message.body.size(), drained));
        };
        router.add(std::move(taking));
        host.limits.request_timeout_ms = host.limits.body_timeout_ms = 600;
        host.options.write_timeout_ms = 300;
        host.start();
    }
    void TearDown() override {
        taken.stream.reset();
        host.stop();
        EXPECT_EQ(alive, 0);
        EXPECT_EQ(sleeping, 0);
    }
    void route(std::string pattern, http::Method method, HttpHandler handler) {
        HttpRoute route;
        route.methods = {method};
        route.pattern = std::move(pattern);
        route.handler = std::move(handler);
        route.body_limit_bytes = 200'000;
        router.add(std::move(route));
    }
    // A frame as it is on the wire.
    static std::string frame(uint8_t type, uint8_t flags, uint32_t id, std::string_view payload) {
        std::string out;
        for (const size_t shift : {16, 8, 0}) out += static_cast<char>(payload.size() >> shift);
        out += static_cast<char>(type);
        out += static_cast<char>(flags);
        for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(id >> shift);
        return out.append(payload);
    }
    static std::string number(uint32_t value) {
        std::string out;
        for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(value >> shift);
        return out;
    }
    // A client that sends what it likes: its preface and empty SETTINGS.
    void send_preface() {
        host.peer.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(NGHTTP2_SETTINGS, 0, 0, ""));
        pass();
    }
    // "GET /hello" with HPACK's static table; the authority is "a".
    static std::string request_block(std::string_view path = "/hello") {
        return std::string("\x82\x87\x41\x01", 4) + "a" + std::string("\x04", 1) + static_cast<char>(path.size()) +
               std::string(path);
    }
    static std::string request(uint32_t id, bool is_all = true, std::string_view path = "/hello") {
        return frame(NGHTTP2_HEADERS, is_all ? 5 : 4, id, request_block(path));
    }
    static void pass(int rounds = 10) {
        for (int i = 0; i < rounds; ++i) ASSERT_TRUE(ok(runtime::yield()));
    }
    // Sends it again and again until the session ends; returns how often.
    int flood(const std::function<std::string(int)>& make, int most = 20'000) {
        for (int i = 0; i < most; ++i) {
            if (!host.why.empty()) return i;
            host.peer.send(make(i));
            if (i % 50 == 49) pass(3), (void)host.peer.take();
        }
        return most;
    }

    HttpRouter router;
    Http2Host host{router};
    DeferredList list;
    ParkedViewer viewer;
    HttpResponse::Detached taken;
    std::string last_error;
    size_t drained = 0, wanted = SIZE_MAX;
    int alive = 0, sleeping = 0;
    int64_t limit_ms = 10'000;
};

TEST_F(Http2SessionTest, Answers) {
    Http2Client client(host);
    const int32_t hello = client.get("/hello?name=you"), head = client.ask("HEAD", "/hello"),
                  nothing = client.get("/nothing"), wrong = client.ask("DELETE", "/hello"),
                  options = client.ask("OPTIONS", "/hello"), pieces = client.get("/pieces"), file = client.get("/file");
    auto& answer = client.await(hello);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "hello you");
    EXPECT_EQ(answer.fields["content-type"], "text/plain");
    EXPECT_EQ(answer.fields["content-length"], "9");
    EXPECT_EQ(answer.fields["server"], "SRS");
    EXPECT_EQ(answer.fields["access-control-allow-origin"], "*");
    EXPECT_FALSE(answer.fields["date"].empty());
    EXPECT_EQ(answer.fields["x-text"], "a  b");
    EXPECT_FALSE(answer.fields.contains("connection"));
    EXPECT_EQ(client.await(head).fields["content-length"], "6");
    EXPECT_EQ(client.await(head).body, "");
    EXPECT_EQ(client.await(nothing).status, 404);
    EXPECT_EQ(client.await(wrong).status, 405);
    EXPECT_EQ(client.await(wrong).fields["allow"], "GET, HEAD, OPTIONS");
    EXPECT_EQ(client.await(options).status, 204);
    EXPECT_EQ(client.await(pieces).body, "piece;piece;piece;");
    EXPECT_GT(client.await(file).body.size(), 1000u);
    EXPECT_EQ(client.await(file).fields["content-length"], fmt::format("{}", client.await(file).body.size()));
    EXPECT_EQ(host.counters.requests, 7u);
    EXPECT_EQ(host.open_streams, 0u);
}

TEST_F(Http2SessionTest, ReadsBodies) {
    Http2Client client(host);
    const std::string small = "abc", large(150'000, 'b'), too_large(300'000, 'c');
    const int32_t a = client.ask("POST", "/echo", {}, &small);
    const int32_t b = client.ask("POST", "/echo", {{"expect", "100-continue"}}, &large);
    const int32_t c = client.ask("POST", "/echo", {}, &too_large);
    const int32_t d = client.ask("POST", "/echo", {{"content-length", "300000"}}, &too_large);
    EXPECT_EQ(client.await(a).body, "abc");
    EXPECT_TRUE(client.await(b).body == large);
    EXPECT_EQ(client.await(c).status, 413);
    EXPECT_EQ(client.await(d).status, 413);
    for (const int32_t id : {c, d}) {
        for (int i = 0; i < 50 && !client.answers[id].closed; ++i) client.exchange();
        EXPECT_EQ(client.answers[id].error_code, static_cast<uint32_t>(NGHTTP2_NO_ERROR)) << "the rest is of no use";
    }
    EXPECT_EQ(host.unfinished, 0u);
    EXPECT_EQ(host.session->streams(), 0u);
    EXPECT_EQ(client.await(client.get("/hello")).status, 200);
}

TEST_F(Http2SessionTest, ARouteMayTakeABodyThatIsNotKept) {
    Http2Client client(host);
    const std::string large(150'000, 'b');
    const int32_t id = client.ask("POST", "/taking", {}, &large);
    EXPECT_EQ(client.await(id).body, "0 kept of 150000");
    EXPECT_EQ(host.unfinished, 0u);
    drained = 0;
    wanted = 1000;
    EXPECT_EQ(client.await(client.ask("POST", "/taking", {}, &large)).status, 413);
    EXPECT_EQ(client.await(client.get("/hello")).status, 200);
}

TEST_F(Http2SessionTest, UnfinishedBodiesAreCounted) {
    host.max_unfinished = 100'000;
    Http2Client client(host);
    const std::string body(150'000, 'b');
    client.ask("POST", "/echo", {}, &body);
    for (int i = 0; i < 50 && host.why.empty(); ++i) client.exchange(2);
    EXPECT_EQ(host.why, "too much unfinished input");
    EXPECT_EQ(host.reason, base::CloseReason::kFlood);
}

TEST_F(Http2SessionTest, ManyStreamsAtOnce) {
    Http2Client client(host);
    client.exchange();
    std::vector<int32_t> ids;
    for (int i = 0; i < 128; ++i) ids.push_back(client.get(fmt::format("/hello?name={}", i)));
    for (int i = 0; i < 128; ++i) EXPECT_EQ(client.await(ids[static_cast<size_t>(i)]).body, fmt::format("hello {}", i));
    EXPECT_EQ(host.session->streams(), 0u);
}

TEST_F(Http2SessionTest, ABodyFollowsTheWindow) {
    Http2Client client(host, 1000, false);
    const int32_t id = client.get("/large?n=5000");
    client.exchange();
    EXPECT_EQ(client.answers[id].body.size(), 1000u);
    client.raise_window(id, 1500);
    client.exchange();
    EXPECT_EQ(client.answers[id].body.size(), 2500u);
    client.raise_window(id, 10'000);
    EXPECT_EQ(client.await(id).body.size(), 5000u);
}

TEST_F(Http2SessionTest, AWindowOfZeroForEverEndsTheStream) {
    Http2Client client(host, 0, false);
    const int32_t id = client.get("/large?n=5000"), wait = client.get("/wait");
    client.exchange();
    EXPECT_EQ(client.answers[id].status, 200);
    list.first()->answer(std::make_shared<PreparedAnswer>(200, "text/plain", AnswerFields{}, "part"));
    client.exchange();
    EXPECT_EQ(client.answers[wait].status, 200);
    for (int i = 0; i < 200 && !(client.answers[id].closed && client.answers[wait].closed); ++i) {
        client.exchange();
        ASSERT_TRUE(ok(runtime::sleep_ms(5)));
    }
    EXPECT_TRUE(client.answers[id].closed);
    EXPECT_TRUE(client.answers[wait].closed);
    EXPECT_EQ(host.session->streams(), 0u);
    EXPECT_EQ(host.why, "") << "other streams go on";
}

TEST_F(Http2SessionTest, WhatIsShortOrFailsIsCutOff) {
    Http2Client client(host);
    const int32_t cut = client.get("/short"), fails = client.get("/fails");
    EXPECT_EQ(client.await(cut).status, 200);
    client.exchange();
    EXPECT_EQ(client.answers[cut].error_code, static_cast<uint32_t>(NGHTTP2_INTERNAL_ERROR));
    EXPECT_FALSE(client.answers[cut].complete);
    EXPECT_EQ(client.await(fails).status, 500);
}

// RFC 9218: the more urgent answer goes first, whatever came first.
TEST_F(Http2SessionTest, TheUrgentGoesFirst) {
    Http2Client client(host, 1 << 20);
    client.exchange();
    const int32_t warm = client.get("/hello");
    client.await(warm);
    client.raise_window(0, 1 << 20);
    client.exchange();
    client.data_order.clear();
    host.peer.set_room(0);
    host.options.write_timeout_ms = 5'000;
    const int32_t late = client.get("/large?n=200000", {{"priority", "u=6"}});
    const int32_t soon = client.get("/large?n=200000", {{"priority", "u=1"}});
    client.exchange();
    host.peer.set_room(SIZE_MAX);
    EXPECT_EQ(client.await(soon).body.size(), 200'000u);
    EXPECT_EQ(client.await(late).body.size(), 200'000u);
    const auto last_soon = std::find(client.data_order.rbegin(), client.data_order.rend(), soon);
    const auto pieces_of_late_before = std::count(last_soon, client.data_order.rend(), late);
    EXPECT_LE(pieces_of_late_before, 3) << "what was under way when the socket was full";
}

TEST_F(Http2SessionTest, ARequestWaitsWithoutACoroutine) {
    Http2Client client(host);
    client.await(client.get("/hello"));
    const size_t before = runtime::coroutine_count();
    std::vector<int32_t> ids;
    for (int i = 0; i < 20; ++i) ids.push_back(client.get("/wait"));
    client.exchange();
    EXPECT_EQ(alive, 20);
    EXPECT_EQ(host.deferred.count(), 20u);
    EXPECT_LE(runtime::coroutine_count(), before + 1);
    client.reset(ids[7]);
    client.exchange();
    EXPECT_EQ(alive, 19) << "its owner sees that its client has left";
    const auto answer = std::make_shared<PreparedAnswer>(
        200, "text/plain", AnswerFields{{"Cache-Control", "max-age=1"}}, std::string(50'000, 'p'));
    while (Deferred* one = list.first()) one->answer(answer);
    for (size_t i = 0; i < ids.size(); ++i) {
        if (i == 7) continue;
        EXPECT_EQ(client.await(ids[i]).body.size(), 50'000u);
        EXPECT_EQ(client.answers[ids[i]].fields["cache-control"], "max-age=1");
    }
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(host.deferred.count(), 0u);
    EXPECT_EQ(host.session->streams(), 0u);
}

TEST_F(Http2SessionTest, AWaitIsLimitedAndEndsWithTheServer) {
    Http2Client client(host);
    limit_ms = 50;
    const int32_t late = client.get("/wait");
    EXPECT_EQ(client.await(late).status, 503);
    EXPECT_EQ(client.answers[late].fields["retry-after"], "1");
    limit_ms = 10'000;
    const int32_t ended = client.get("/wait");
    client.exchange();
    host.session->end_waits(false);
    EXPECT_EQ(client.await(ended).status, 503);
    const int32_t cut = client.get("/wait");
    client.exchange();
    EXPECT_EQ(alive, 1);
    host.peer.reset();
    pass();
    EXPECT_EQ(alive, 0);
    (void)cut;
}

TEST_F(Http2SessionTest, AViewerHasTheBodyOfAStream) {
    Http2Client client(host, 1000, false);
    const int32_t id = client.get("/take");
    client.exchange();
    EXPECT_EQ(client.answers[id].status, 200);
    EXPECT_EQ(client.answers[id].fields["content-type"], "video/x-flv");
    EXPECT_EQ(host.admitted, 1u);
    ASSERT_TRUE(taken.stream != nullptr);
    EXPECT_EQ(taken.first, "");
    const std::string bytes(1500, 'f');
    EXPECT_EQ(taken.stream->try_write(base::Slice::copy(bytes)).value(), 1000u);
    EXPECT_EQ(taken.stream->try_write(base::Slice::copy(bytes)).value(), 0u);
    EXPECT_EQ(viewer.writable, 0);
    client.exchange();
    client.raise_window(id, 1000);
    client.exchange();
    EXPECT_EQ(viewer.writable, 1);
    EXPECT_EQ(taken.stream->try_write(base::Slice::copy(bytes.substr(0, 500))).value(), 500u);
    client.exchange();
    EXPECT_EQ(client.answers[id].body.size(), 1500u);
    EXPECT_EQ(taken.stream->try_finish().value(), 0u);
    client.exchange();
    EXPECT_TRUE(client.answers[id].complete);
    EXPECT_FALSE(viewer.gone) << "it has ended it itself";
    EXPECT_EQ(host.session->streams(), 0u);
    EXPECT_LT(host.session->sent_bytes(), 600u) << "the viewer's bytes are counted by the viewer";
}

TEST_F(Http2SessionTest, AViewersEnds) {
    Http2Client client(host);
    const int32_t left = client.get("/take");
    client.exchange();
    client.reset(left);
    client.exchange();
    EXPECT_TRUE(viewer.gone);
    EXPECT_TRUE(taken.stream->peer_gone());
    EXPECT_FALSE(taken.stream->try_write(base::Slice::copy("a")).has_value());
    const int32_t dropped = client.get("/take");
    client.exchange();
    taken.stream.reset();
    client.exchange();
    EXPECT_EQ(client.answers[dropped].error_code, static_cast<uint32_t>(NGHTTP2_CANCEL));
    viewer.gone = false;
    client.get("/take");
    client.exchange();
    host.peer.reset();
    pass();
    EXPECT_TRUE(viewer.gone);
    EXPECT_EQ(host.session->streams(), 0u);
}

TEST_F(Http2SessionTest, TheClientsEndCancelsAHandler) {
    Http2Client client(host);
    const int32_t id = client.get("/sleep");
    client.get("/sleep");
    client.exchange();
    EXPECT_EQ(sleeping, 2);
    client.reset(id);
    client.exchange();
    EXPECT_EQ(sleeping, 1);
    EXPECT_EQ(host.session->streams(), 1u);
    host.peer.reset();
    pass();
    EXPECT_EQ(sleeping, 0);
    EXPECT_EQ(host.session->streams(), 0u);
}

TEST_F(Http2SessionTest, RefusesTheMalformed) {
    Http2Client client(host);
    const auto status_of = [&](Http2Client::Fields fields) {
        return client.await(client.submit(fields, nullptr)).status;
    };
    const std::pair<std::string, std::string> method{":method", "GET"}, scheme{":scheme", "https"},
        path{":path", "/hello"}, authority{":authority", "a"};
    EXPECT_EQ(status_of({method, scheme, authority, {":path", "/../etc/passwd"}}), 400);
    EXPECT_EQ(status_of({method, scheme, authority, {":path", "/a b"}}), 0) << "the library resets the stream";
    EXPECT_EQ(status_of({method, scheme, authority, {":path", "/" + std::string(9000, 'a')}}), 414);
    EXPECT_EQ(status_of({method, scheme, authority, path, {"host", "b"}}), 400);
    EXPECT_EQ(status_of({method, scheme, authority, path, {"x", std::string(20'000, 'a')}}), 431);
    Http2Client::Fields many{method, scheme, authority, path};
    for (int i = 0; i < 150; ++i) many.emplace_back(fmt::format("x-{}", i), "a");
    EXPECT_EQ(status_of(many), 431);
    EXPECT_EQ(status_of({method, scheme, path, {"host", "b"}}), 200);
    EXPECT_EQ(host.why, "");
}

TEST_F(Http2SessionTest, TheServersEndIsToldTwice) {
    Http2Client client(host, 1000, false);
    const int32_t before = client.get("/take");
    client.exchange();
    host.session->drain();
    client.exchange();
    ASSERT_EQ(client.goaways.size(), 1u);
    EXPECT_EQ(client.goaways[0].first, 0x7fffffff);
    for (int i = 0; i < 300 && client.goaways.size() < 2; ++i) {
        client.exchange();
        ASSERT_TRUE(ok(runtime::sleep_ms(10)));
    }
    ASSERT_EQ(client.goaways.size(), 2u) << host.why;
    EXPECT_EQ(client.goaways[1].first, before);
    EXPECT_EQ(host.why, "");
    EXPECT_EQ(taken.stream->try_write(base::Slice::copy("the rest")).value(), 8u);
    (void)taken.stream->try_finish();
    client.exchange();
    EXPECT_EQ(client.answers[before].body, "the rest");
    EXPECT_EQ(host.why, "its last stream has ended");
    EXPECT_EQ(host.reason, base::CloseReason::kDone);
}

TEST_F(Http2SessionTest, ASlowPreface) {
    for (int i = 0; i < 400 && host.why.empty(); ++i) ASSERT_TRUE(ok(runtime::sleep_ms(5)));
    EXPECT_EQ(host.why, "no complete request within 600 ms");
    EXPECT_EQ(host.counters.too_slow, 1u);
}

TEST_F(Http2SessionTest, ABadPreface) {
    host.peer.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    pass();
    EXPECT_EQ(host.reason, base::CloseReason::kProtocolError);
    EXPECT_EQ(host.counters.protocol_errors, 1u);
}

TEST_F(Http2SessionTest, FieldsThatDoNotEnd) {
    send_preface();
    host.peer.send(frame(NGHTTP2_HEADERS, 1, 1, request_block()));
    for (int i = 0; i < 400 && host.why.empty(); ++i) ASSERT_TRUE(ok(runtime::sleep_ms(5)));
    EXPECT_EQ(host.why, "no complete request within 600 ms");
}

TEST_F(Http2SessionTest, ABodyThatDoesNotEnd) {
    send_preface();
    host.peer.send(
        frame(NGHTTP2_HEADERS, 4, 1, std::string("\x83\x87\x41\x01", 4) + "a" + std::string("\x04\x05", 2) + "/echo"));
    for (int i = 0; i < 400 && host.session->streams() > 0; ++i) ASSERT_TRUE(ok(runtime::sleep_ms(5)));
    EXPECT_EQ(host.session->streams(), 0u);
    EXPECT_EQ(host.why, "") << "the stream alone ends";
}

TEST_F(Http2SessionTest, RapidReset) {
    send_preface();
    const int sent = flood([](int i) {
        const auto id = static_cast<uint32_t>(2 * i + 1);
        return request(id) + frame(NGHTTP2_RST_STREAM, 0, id, number(NGHTTP2_CANCEL));
    });
    EXPECT_GE(sent, 200);
    EXPECT_LE(sent, 260);
    EXPECT_EQ(host.why, "a flood of streams that are reset");
    EXPECT_EQ(host.counters.reset_floods, 1u);
    pass(50);
    EXPECT_EQ(host.session->streams(), 0u);
}

// CVE-2025-8671: the client makes the server reset the streams.
TEST_F(Http2SessionTest, MadeYouReset) {
    send_preface();
    const int sent = flood([](int i) {
        const auto id = static_cast<uint32_t>(2 * i + 1);
        return request(id, true, "/sleep") + frame(NGHTTP2_WINDOW_UPDATE, 0, id, number(0));
    });
    EXPECT_LE(sent, 300);
    EXPECT_EQ(host.counters.reset_floods + host.counters.protocol_errors + host.counters.frame_floods, 1u) << host.why;
    pass(50);
    EXPECT_EQ(sleeping, 0);
}

TEST_F(Http2SessionTest, AFloodOfPings) {
    send_preface();
    EXPECT_LE(flood([](int) { return frame(NGHTTP2_PING, 0, 0, "12345678"); }), 1'300);
    EXPECT_EQ(host.counters.frame_floods, 1u);
}

TEST_F(Http2SessionTest, AFloodOfSettings) {
    send_preface();
    EXPECT_LE(flood([](int) { return frame(NGHTTP2_SETTINGS, 0, 0, std::string("\0\4\0\0\xff\xff", 6)); }), 1'300);
    EXPECT_EQ(host.counters.frame_floods, 1u);
}

TEST_F(Http2SessionTest, AFloodOfEmptyData) {
    send_preface();
    host.peer.send(
        frame(NGHTTP2_HEADERS, 4, 1, std::string("\x83\x87\x41\x01", 4) + "a" + std::string("\x04\x05", 2) + "/echo"));
    EXPECT_LE(flood([](int) { return frame(NGHTTP2_DATA, 0, 1, ""); }), 1'300);
    EXPECT_EQ(host.counters.frame_floods, 1u);
}

TEST_F(Http2SessionTest, AFloodOfPriorities) {
    send_preface();
    EXPECT_LE(flood([](int i) {
                  return frame(NGHTTP2_PRIORITY, 0, static_cast<uint32_t>(2 * i + 1), std::string("\0\0\0\0\x10", 5));
              }),
              1'300);
    EXPECT_EQ(host.counters.frame_floods, 1u);
}

TEST_F(Http2SessionTest, AFloodOfUnknownFrames) {
    send_preface();
    EXPECT_LE(flood([](int) { return frame(200, 0, 0, std::string(100, 'x')); }), 3'000);
    EXPECT_EQ(host.counters.frame_floods, 1u);
}

TEST_F(Http2SessionTest, AFloodOfContinuations) {
    send_preface();
    host.peer.send(frame(NGHTTP2_HEADERS, 1, 1, request_block()));
    EXPECT_LE(flood([](int) { return frame(NGHTTP2_CONTINUATION, 0, 1, ""); }), 20);
    EXPECT_NE(host.why, "");
}

// Fields of a kB each from the dynamic table, a byte for each.
TEST_F(Http2SessionTest, AnHpackBomb) {
    send_preface();
    const std::string field = std::string("\x40\x01x\x7f\xa1\x1e", 6) + std::string(4000, 'v');
    host.peer.send(frame(NGHTTP2_HEADERS, 5, 1, request_block() + field));
    pass();
    host.peer.send(frame(NGHTTP2_HEADERS, 5, 3, request_block() + std::string(15'000, '\xbf')));
    pass();
    EXPECT_EQ(host.why, "a flood of fields");
    EXPECT_EQ(host.counters.field_floods, 1u);
}

TEST_F(Http2SessionTest, WhoReadsNothingIsNotRead) {
    send_preface();
    host.peer.set_room(0);
    host.peer.send(frame(NGHTTP2_PING, 0, 0, "12345678"));
    pass();
    std::string many;
    for (uint32_t i = 0; i < 100; ++i) many += request(2 * i + 1);
    host.peer.send(many);
    pass();
    EXPECT_EQ(host.session->streams(), 0u) << "its requests are not read";
    for (int i = 0; i < 400 && host.why.empty(); ++i) ASSERT_TRUE(ok(runtime::sleep_ms(5)));
    EXPECT_EQ(host.why, "no byte accepted for 300 ms");
    EXPECT_EQ(host.counters.too_slow, 1u);
}

TEST_F(Http2SessionTest, ABusyClientIsNoFlood) {
    Http2Client client(host);
    for (int i = 0; i < 300; ++i) {
        std::vector<int32_t> ids;
        for (int j = 0; j < 10; ++j) ids.push_back(client.get("/large?n=2000"));
        for (const int32_t id : ids) ASSERT_EQ(client.await(id).body.size(), 2000u) << host.why;
    }
    EXPECT_EQ(host.counters.requests, 3000u);
    EXPECT_EQ(host.why, "");
}

TEST(Http2Budget, IsFilledByTimeAndByWork) {
    Http2Budget budget(0);
    int spent = 0;
    while (budget.spend_frame(0)) ++spent;
    EXPECT_EQ(spent, Http2Budget::kFrames);
    EXPECT_FALSE(budget.spend_frame(5));
    EXPECT_TRUE(budget.spend_frame(10));
    EXPECT_FALSE(budget.spend_frame(10));
    budget.earn_request();
    for (int64_t i = 0; i < Http2Budget::kPerRequest; ++i) EXPECT_TRUE(budget.spend_frame(10));
    EXPECT_FALSE(budget.spend_frame(10));
    budget.earn_sent_data();
    budget.earn_received_data(1000);
    for (int64_t i = 0; i < Http2Budget::kPerSentData + 3; ++i) EXPECT_TRUE(budget.spend_frame(10));
    EXPECT_FALSE(budget.spend_frame(10));
    spent = 0;
    while (budget.spend_frame(1'000'000)) ++spent;
    EXPECT_EQ(spent, Http2Budget::kFrames) << "no more than that is saved up";
    spent = 0;
    while (budget.spend_reset(0)) ++spent;
    EXPECT_EQ(spent, Http2Budget::kResets);
}

}  // namespace
}  // namespace net
