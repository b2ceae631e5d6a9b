#include "net/http/deferred.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "net/http/http_server.h"
#include "net/http/http_testing.h"
#include "net/http/waiting_request.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/tls_testing.h"

namespace net {
namespace {

using runtime::testing::ok;
using testing::RawClient;

AnswerPtr text_answer(std::string text) {
    return std::make_shared<PreparedAnswer>(200, "text/plain", AnswerFields{{"Cache-Control", "max-age=1"}},
                                            std::move(text));
}

// How many exist, and what they got.
struct Counts {
    int alive = 0;
    std::vector<std::string> answers{};
};

class Request final : public Deferred, public DeferredTransport {
  public:
    Request(Counts& counts, std::string name) : counts_(counts), name_(std::move(name)) {
        ++counts_.alive;
        set_transport(*this);
    }
    ~Request() override { --counts_.alive; }
    const std::string& name() const { return name_; }

  private:
    friend Request& make_request(Counts& counts, std::string name);
    void answer(AnswerPtr answer) override {
        const auto ended = std::move(self_);
        counts_.answers.push_back(name_ + ":" + (answer ? answer->body() : "late"));
    }
    Counts& counts_;
    std::string name_;
    std::unique_ptr<Request> self_;
};

Request& make_request(Counts& counts, std::string name) {
    auto request = std::make_unique<Request>(counts, std::move(name));
    Request& made = *request;
    made.self_ = std::move(request);
    return made;
}

TEST(DeferredList, KeepsTheOrder) {
    Counts counts;
    DeferredList list, other;
    for (const char* name : {"a", "b", "c"}) list.add(make_request(counts, name));
    other.add(make_request(counts, "d"));
    other.take_all(list);
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.first(), nullptr);
    other.first()->answer(text_answer("1"));
    list.add(make_request(counts, "e"));
    other.take_all(list);
    while (Deferred* request = other.first()) request->answer(text_answer("2"));
    EXPECT_EQ(counts.answers, (std::vector<std::string>{"d:1", "a:2", "b:2", "c:2", "e:2"}));
    EXPECT_EQ(counts.alive, 0);
}

TEST(DeferredList, ItsEndAnswersAll) {
    Counts counts;
    {
        DeferredList list;
        list.add(make_request(counts, "a"));
        list.add(make_request(counts, "b"));
    }
    EXPECT_EQ(counts.answers, (std::vector<std::string>{"a:late", "b:late"}));
}

class DeferredWakerTest : public runtime::testing::RuntimeTest {};

TEST_F(DeferredWakerTest, ThousandsAreAnsweredInSlices) {
    Counts counts;
    DeferredWaker waker;
    DeferredList list;
    const size_t before = runtime::coroutine_count();
    for (int i = 0; i < 3000; ++i) list.add(make_request(counts, fmt::format("{}", i)));
    waker.answer(list, [](Deferred& request) {
        runtime::testing::work_us(5);
        return text_answer(static_cast<Request&>(request).name());
    });
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(counts.answers.size(), 0u) << "it never yields";
    // Who leaves meanwhile is not answered; what comes meanwhile waits for the next answer.
    int passes = 0;
    while (counts.alive > 0 && passes < 10'000) {
        ASSERT_TRUE(ok(runtime::yield()));
        ++passes;
    }
    EXPECT_GE(passes, 10);
    ASSERT_EQ(counts.answers.size(), 3000u);
    for (int i = 0; i < 3000; ++i) EXPECT_EQ(counts.answers[static_cast<size_t>(i)], fmt::format("{0}:{0}", i));
    for (int i = 0; i < 5 && runtime::coroutine_count() > before; ++i) ASSERT_TRUE(ok(runtime::yield()));
    EXPECT_EQ(runtime::coroutine_count(), before);
}

TEST_F(DeferredWakerTest, ItsEndAnswersThoseThatAreLeft) {
    Counts counts;
    DeferredList list;
    {
        DeferredWaker waker;
        for (int i = 0; i < 100; ++i) list.add(make_request(counts, "a"));
        waker.answer(list, [](Deferred&) {
            runtime::testing::work_us(100);
            return text_answer("1");
        });
        list.add(make_request(counts, "b"));
        waker.answer(list, text_answer("2"));
    }
    EXPECT_EQ(counts.alive, 0);
    EXPECT_EQ(counts.answers.size(), 101u);
    EXPECT_GE(std::ranges::count(counts.answers, "a:late"), 50);
    EXPECT_EQ(counts.answers.back(), "b:late");
}

TEST_F(DeferredWakerTest, WithoutMemoryForACoroutineAllAreTold) {
    Counts counts;
    DeferredWaker waker;
    DeferredList list;
    list.add(make_request(counts, "a"));
    runtime::limit_coroutines(runtime::coroutine_count());
    waker.answer(list, text_answer("1"));
    runtime::limit_coroutines(SIZE_MAX);
    EXPECT_EQ(counts.answers, (std::vector<std::string>{"a:late"}));
}

// ---- Over a server

class Waiting final : public Deferred {
  public:
    explicit Waiting(int& alive) : alive_(alive) { ++alive_; }
    ~Waiting() override { --alive_; }

  private:
    int& alive_;
};

class DeferredServerTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        HttpRoute wait;
        wait.methods = {http::Method::kGet};
        wait.pattern = "/wait";
        wait.handler = [this](HttpRequest& request, HttpResponse& response) {
            response.observe_body([this](size_t bytes) { body_bytes += bytes; });
            if (!request.message.parameter("private").empty()) response.same_origin_only();
            auto waiting_request = std::make_unique<Waiting>(alive);
            list.add(*waiting_request);
            return response.defer(std::move(waiting_request), limit_ms);
        };
        wait.still_served = [this] { return still_served; };
        router.add(std::move(wait));
        HttpRoute now;
        now.methods = {http::Method::kGet};
        now.pattern = "/now";
        now.handler = [](HttpRequest&, HttpResponse& response) { return response.send(200, "text/plain", "now"); };
        router.add(std::move(now));
    }
    void TearDown() override {
        waker.stop();
        server.reset();
        EXPECT_EQ(sessions.size(), 0u);
        EXPECT_EQ(alive, 0);
        EXPECT_EQ(sessions.deferred().count(), 0u);
    }
    uint16_t start(const TlsPair* tls = nullptr) {
        server = std::make_unique<HttpServer>(sessions, router, options);
        EXPECT_TRUE(ok(server->listen({"127.0.0.1", 0}, tls)));
        return server->port();
    }
    // So many requests wait.
    void await_waiting(int count) {
        for (int i = 0; i < 400 && alive != count; ++i) ASSERT_TRUE(ok(runtime::sleep_ms(5)));
        ASSERT_EQ(alive, count);
    }
    static std::string get(std::string_view path) { return fmt::format("GET {} HTTP/1.1\r\nHost: a\r\n\r\n", path); }

    SessionTable sessions;
    HttpRouter router;
    HttpServerOptions options;
    DeferredList list;
    DeferredWaker waker;
    int alive = 0;
    size_t body_bytes = 0;
    int64_t limit_ms = 10'000;
    bool still_served = false;
    std::unique_ptr<HttpServer> server;
};

TEST_F(DeferredServerTest, ARequestWaitsWithoutACoroutine) {
    static_assert(sizeof(WaitingRequest) <= 384);
    start();
    std::vector<std::unique_ptr<RawClient>> clients;
    const size_t before = runtime::coroutine_count();
    for (int i = 0; i < 100; ++i) clients.push_back(std::make_unique<RawClient>(server->port()));
    for (int round = 0; round < 3; ++round) {
        for (auto& client : clients) client->send(get("/wait"));
        await_waiting(100);
        // Those of the handshakes are kept for a while.
        for (int i = 0; i < 500 && runtime::coroutine_count() > before + 20; ++i)
            ASSERT_TRUE(ok(runtime::sleep_ms(10)));
        EXPECT_LE(runtime::coroutine_count(), before + 20);
        EXPECT_EQ(sessions.deferred().count(), 100u);
        waker.answer(list, text_answer(fmt::format("part {}", round)));
        for (auto& client : clients) {
            const auto answer = client->read();
            EXPECT_EQ(answer.status, 200);
            EXPECT_EQ(answer.body, fmt::format("part {}", round));
            EXPECT_EQ(answer.header("Connection"), "keep-alive");
            EXPECT_EQ(answer.header("Cache-Control"), "max-age=1");
            EXPECT_EQ(answer.header("Content-Type"), "text/plain");
            EXPECT_EQ(answer.header("Access-Control-Allow-Origin"), "*");
            EXPECT_FALSE(answer.header("Date").empty());
        }
        EXPECT_EQ(alive, 0);
    }
    EXPECT_EQ(body_bytes, 3 * 100 * std::string_view("part 0").size());
    EXPECT_EQ(server->connections(), 100u);
    EXPECT_EQ(sessions.admission().idle().size(), 100u) << "they wait for the next request";
    sessions.for_each([](Session& session) { EXPECT_EQ(session.stream_text(), "/wait (GET 200)"); });
}

TEST_F(DeferredServerTest, PipelinedRequestsGoOnBehindIt) {
    start();
    RawClient client(server->port());
    client.send(get("/wait") + get("/now") + get("/wait"));
    await_waiting(1);
    client.send(get("/now"));
    ASSERT_TRUE(ok(runtime::sleep_ms(20)));
    list.first()->answer(text_answer("first"));
    EXPECT_EQ(client.read().body, "first");
    EXPECT_EQ(client.read().body, "now");
    await_waiting(1);
    // More than is read while it waits.
    std::string many;
    for (int i = 0; i < 300; ++i) many += get("/now");
    client.send(many);
    ASSERT_TRUE(ok(runtime::sleep_ms(20)));
    list.first()->answer(text_answer("second"));
    EXPECT_EQ(client.read().body, "second");
    for (int i = 0; i < 301; ++i) ASSERT_EQ(client.read().body, "now") << i;
}

TEST_F(DeferredServerTest, HeadsOldClientsAndPagesOfOtherOrigins) {
    start();
    RawClient head(server->port()), old(server->port()), own(server->port());
    head.send("HEAD /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    old.send("GET /wait HTTP/1.0\r\n\r\n");
    own.send(get("/wait?private=1"));
    await_waiting(3);
    waker.answer(list, text_answer("a body"));
    const auto head_answer = head.read(true);
    EXPECT_EQ(head_answer.status, 200);
    EXPECT_EQ(head_answer.header("Content-Length"), "6");
    head.send(get("/now"));
    EXPECT_EQ(head.read().body, "now");
    const auto old_answer = old.read();
    EXPECT_EQ(old_answer.body, "a body");
    EXPECT_EQ(old_answer.header("Connection"), "close");
    EXPECT_TRUE(old.sees_close());
    const auto own_answer = own.read();
    EXPECT_EQ(own_answer.body, "a body");
    EXPECT_EQ(own_answer.header("Access-Control-Allow-Origin"), "");
}

TEST_F(DeferredServerTest, ItsTimeIsLimited) {
    limit_ms = 100;
    start();
    RawClient client(server->port());
    client.send(get("/wait"));
    const auto answer = client.read();
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.header("Retry-After"), "1");
    EXPECT_EQ(answer.header("Cache-Control"), "no-store");
    EXPECT_EQ(answer.header("Connection"), "keep-alive");
    EXPECT_EQ(alive, 0);
    EXPECT_TRUE(list.empty());
    client.send(get("/now"));
    EXPECT_EQ(client.read().body, "now");
}

TEST_F(DeferredServerTest, TheOwnerSeesThatTheClientHasLeft) {
    start();
    RawClient stays(server->port());
    stays.send(get("/wait"));
    await_waiting(1);
    {
        RawClient leaves(server->port()), pipelines(server->port()), half(server->port());
        leaves.send(get("/wait"));
        pipelines.send(get("/wait"));
        half.send(get("/wait"));
        await_waiting(4);
        pipelines.send(get("/now"));
        half.stream().shutdown_write();
        await_waiting(3);
    }
    await_waiting(1);
    EXPECT_EQ(server->connections(), 1u);
    EXPECT_EQ(sessions.closed().count_of(base::CloseReason::kPeerClosed), 3u);
    list.first()->answer(text_answer("a"));
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(stays.read().body, "a");
}

TEST_F(DeferredServerTest, SoManyMayWait) {
    sessions.deferred().set_limits({2, 3});
    start();
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 3; ++i) {
        clients.push_back(std::make_unique<RawClient>(server->port()));
        clients.back()->send(get("/wait"));
        if (i < 2) await_waiting(i + 1);
    }
    const auto refused = clients[2]->read();
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.header("Retry-After"), "5");
    EXPECT_EQ(sessions.deferred().counters().refused_address, 1u);
    EXPECT_EQ(alive, 2);
    sessions.deferred().set_limits({0, 2});
    RawClient another(server->port());
    another.send(get("/wait"));
    EXPECT_EQ(another.read().status, 503);
    EXPECT_EQ(sessions.deferred().counters().refused_all, 1u);
    waker.answer(list, text_answer("a"));
    EXPECT_EQ(clients[0]->read().body, "a");
    EXPECT_TRUE(another.sees_close());
    clients[0]->send(get("/wait"));
    await_waiting(1);
}

TEST_F(DeferredServerTest, AKickedSessionEndsItsWait) {
    start();
    RawClient client(server->port());
    client.send(get("/wait"));
    await_waiting(1);
    sessions.for_each([](Session& session) { session.kick("by the test"); });
    // An answer that comes before the connection has ended is not sent.
    list.first()->answer(text_answer("too late"));
    EXPECT_TRUE(client.sees_close());
    EXPECT_EQ(client.read_bytes(1, 1), "");
}

TEST_F(DeferredServerTest, TheServersEndIsTheEndOfWaits) {
    start();
    RawClient client(server->port());
    client.send(get("/wait"));
    await_waiting(1);
    still_served = true;
    server->stop_accepting();
    ASSERT_TRUE(ok(runtime::sleep_ms(20)));
    EXPECT_EQ(alive, 1) << "its route serves its clients to their end";
    still_served = false;
    server->stop_accepting();
    const auto answer = client.read();
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.header("Connection"), "close");
    EXPECT_TRUE(client.sees_close());
}

TEST_F(DeferredServerTest, AStopAnswersToo) {
    start();
    RawClient client(server->port());
    still_served = true;
    client.send(get("/wait"));
    await_waiting(1);
    server->stop();
    EXPECT_EQ(client.read().status, 503);
    EXPECT_TRUE(client.sees_close());
}

TEST_F(DeferredServerTest, WhoReadsSlowlyGetsTheRestWithoutACoroutine) {
    options.response.write_timeout_ms = 300;
    start();
    const std::string body(8 << 20, 'x');
    RawClient slow(server->port()), stuck(server->port()), leaves(server->port());
    for (RawClient* client : {&slow, &stuck, &leaves}) client->send(get("/wait"));
    await_waiting(3);
    const size_t before = runtime::coroutine_count();
    waker.answer(list, text_answer(body));
    ASSERT_TRUE(ok(runtime::sleep_ms(50)));
    EXPECT_EQ(alive, 3) << "until all of it was accepted";
    EXPECT_LE(runtime::coroutine_count(), before);
    slow.send(get("/now"));
    leaves.close();
    const auto answer = slow.read();
    EXPECT_EQ(answer.body.size(), body.size());
    EXPECT_EQ(slow.read().body, "now") << "what came meanwhile is read";
    await_waiting(0);
    EXPECT_EQ(sessions.closed().count_of(base::CloseReason::kTooSlow), 1u);
}

TEST_F(DeferredServerTest, OverTls) {
    const auto& files = runtime::testing::certificate_files();
    TlsPair pair("test");
    ASSERT_TRUE(ok(pair.load(files.certificate, files.key)));
    start(&pair);
    const auto connect = [this] {
        const auto deadline = runtime::Deadline::in_ms(5000);
        auto plain = runtime::connect_tcp("127.0.0.1", server->port(), deadline);
        auto stream =
            runtime::tls_connect(*std::move(plain), runtime::tls_client_context(false).value(), "localhost", deadline);
        EXPECT_TRUE(ok(stream));
        return std::make_unique<RawClient>(*std::move(stream));
    };
    auto client = connect(), leaves = connect();
    for (int i = 0; i < 3; ++i) {
        client->send(get("/wait") + get("/now"));
        await_waiting(1);
        waker.answer(list, text_answer(std::string(1 << 20, 'y')));
        EXPECT_EQ(client->read().body, std::string(1 << 20, 'y'));
        EXPECT_EQ(client->read().body, "now");
        await_waiting(0);
    }
    leaves->send(get("/wait"));
    await_waiting(1);
    leaves->close();
    await_waiting(0);
    client->close();
    leaves.reset();
    server->stop();
}

}  // namespace
}  // namespace net
