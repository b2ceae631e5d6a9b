#include "net/http/http_client.h"

#include <gtest/gtest.h>

#include "runtime/loop/testing.h"
#include "runtime/socket/tcp.h"

namespace net {
namespace {

using base::Code;
using runtime::Deadline;

// Answers each connection by a script: reads a request, sends the next text, and so on; then closes.
using Scripts = std::vector<std::vector<std::string>>;

class Scripted {
  public:
    explicit Scripted(Scripts connections) : scripts_(std::move(connections)) {
        listener_ = *runtime::listen_tcp({"127.0.0.1", 0});
        task_ = runtime::spawn("scripted", [this] { run(); });
    }
    ~Scripted() { task_.cancel_and_join(); }
    std::string url(std::string_view path = "/hook") const {
        return fmt::format("http://127.0.0.1:{}{}", listener_->port(), path);
    }
    std::vector<std::string> requests;
    size_t accepted = 0;

  private:
    void run() {
        for (auto& script : scripts_) {
            auto stream = listener_->accept(Deadline::never());
            if (!stream) return;
            ++accepted;
            for (const std::string& answer : script) {
                if (!read_request(**stream)) break;
                if (!(*stream)->write({reinterpret_cast<const uint8_t*>(answer.data()), answer.size()},
                                      Deadline::in_ms(5000)))
                    break;
            }
        }
        (void)runtime::sleep_ms(60'000).has_value();
    }
    bool read_request(runtime::ByteStream& stream) {
        std::string text;
        while (true) {
            uint8_t bytes[4096];
            auto n = stream.read(bytes, Deadline::in_ms(5000));
            if (!n || *n == 0) return false;
            text.append(reinterpret_cast<char*>(bytes), *n);
            size_t head = text.find("\r\n\r\n");
            if (head == text.npos) continue;
            size_t at = text.find("Content-Length: ");
            size_t length = at == text.npos || at > head ? 0 : std::stoul(text.substr(at + 16));
            if (text.size() < head + 4 + length) continue;
            requests.push_back(text);
            return true;
        }
    }
    Scripts scripts_;
    std::unique_ptr<runtime::TcpListener> listener_;
    runtime::Task task_;
};

constexpr const char* kGood = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n0";

class HttpClientTest : public ::testing::Test {
  protected:
    HttpClientTest() { runtime::testing::start_loop_once(); }
    static HttpCall post(std::string url) {
        HttpCall call;
        call.url = std::move(url);
        call.body = "{}";
        call.headers.add("X-Test", "a\r\nb");
        return call;
    }
    base::Result<HttpAnswer> call(HttpCall what, int64_t ms = 5000) {
        return client_.call(std::move(what), Deadline::in_ms(ms));
    }
    Code failure(HttpCall what, int64_t ms = 5000) {
        auto answer = call(std::move(what), ms);
        EXPECT_FALSE(answer);
        return answer ? Code::kOther : answer.error().code();
    }
    HttpClient client_;
};

TEST_F(HttpClientTest, PostsAndKeepsTheConnection) {
    Scripted server(Scripts{{kGood, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"}});
    auto answer = call(post(server.url()));
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "0");
    EXPECT_EQ(client_.idle_connections(), 1u);
    answer = call(post(server.url()));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "ab");
    EXPECT_EQ(server.accepted, 1u);
    std::string port = server.url("").substr(17);
    EXPECT_EQ(server.requests[0], "POST /hook HTTP/1.1\r\nHost: 127.0.0.1:" + port +
                                      "\r\nUser-Agent: SRS\r\nConnection: keep-alive\r\nContent-Length: 2\r\n"
                                      "X-Test: a  b\r\n\r\n{}");
}

TEST_F(HttpClientTest, AKeptConnectionThatWasClosedIsNotTheCallsFault) {
    Scripted server(Scripts{{kGood}, {kGood}});
    ASSERT_TRUE(call(post(server.url())));
    ASSERT_TRUE(call(post(server.url())));
    EXPECT_EQ(server.accepted, 2u);
}

TEST_F(HttpClientTest, Garbage) {
    for (const char* garbage : {"hello\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "HTTP/1.1 99999 x\r\n\r\n",
                                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"}) {
        Scripted server(Scripts{{garbage}});
        EXPECT_EQ(failure(post(server.url())), Code::kProtocol) << garbage;
    }
    EXPECT_EQ(client_.idle_connections(), 0u);
}

TEST_F(HttpClientTest, ClosedInTheMiddle) {
    Scripted server(Scripts{{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0"}, {"HTTP/1.1 200"}, {""}});
    EXPECT_EQ(failure(post(server.url())), Code::kClosed);
    EXPECT_EQ(failure(post(server.url())), Code::kClosed);
    EXPECT_EQ(failure(post(server.url())), Code::kClosed);
}

TEST_F(HttpClientTest, AnAnswerIsBounded) {
    std::string large = fmt::format("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{}", std::string(100'000, 'x'));
    std::string head = fmt::format("HTTP/1.1 200 OK\r\nX-Y: {}\r\nContent-Length: 0\r\n\r\n", std::string(20'000, 'x'));
    Scripted server(Scripts{{large}, {head}, {large}});
    EXPECT_EQ(failure(post(server.url())), Code::kLimit);
    EXPECT_EQ(failure(post(server.url())), Code::kProtocol);
    HttpCall cut = post(server.url());
    cut.cut_body = true;
    cut.max_body_bytes = 64;
    auto answer = call(std::move(cut));
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->body, std::string(64, 'x'));
    EXPECT_TRUE(answer->cut);
    EXPECT_EQ(client_.idle_connections(), 0u);
}

TEST_F(HttpClientTest, OneDeadlineForAll) {
    Scripted silent(Scripts{{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0", "never"}, {}});
    int64_t began = base::monotonic_ms();
    // It has one more answer, but waits for a request first.
    EXPECT_EQ(failure(post(silent.url()), 200), Code::kTimeout);
    EXPECT_LT(base::monotonic_ms() - began, 5000);
}

TEST_F(HttpClientTest, CancelledInTheMiddle) {
    Scripted silent(Scripts{{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0", "never"}});
    Code code = Code::kOther;
    auto task = runtime::spawn("caller", [&] { code = failure(post(silent.url()), 60'000); });
    (void)runtime::sleep_ms(20).has_value();
    task.cancel_and_join();
    EXPECT_EQ(code, Code::kCancelled);
}

TEST_F(HttpClientTest, RedirectsAreFollowedOnlyWhenAsked) {
    std::string moved = "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n";
    Scripted server(Scripts{{moved, moved, kGood}});
    auto answer = call(post(server.url()));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 302);
    HttpCall following = post(server.url());
    following.redirects = 1;
    answer = call(std::move(following));
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->status, 200);
    EXPECT_TRUE(server.requests[2].starts_with("GET /other HTTP/1.1\r\n")) << server.requests[2];
}

TEST_F(HttpClientTest, NobodyThereAndNoUrl) {
    auto listener = *runtime::listen_tcp({"127.0.0.1", 0});
    uint16_t port = listener->port();
    listener.reset();
    EXPECT_EQ(failure(post(fmt::format("http://127.0.0.1:{}/", port))), Code::kSystem);
    for (const char* bad : {"", "/x", "ftp://h/", "http://", "http://a b/", "http://u@h/", "http://h:99999/"})
        EXPECT_EQ(failure(post(bad)), Code::kConfig) << bad;
}

}  // namespace
}  // namespace net
