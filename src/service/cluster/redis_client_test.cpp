#include "service/cluster/redis_client.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "protocol/redis/command.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/tcp.h"
#include "service/cluster/redis_store.h"

namespace service::cluster {
namespace {

using runtime::Deadline;
using runtime::testing::failed_with;
using runtime::testing::ok;

// Answers GET with the key, one command after the other. Commands are arrays, as replies are.
class FakeRedis {
  public:
    std::string password;
    bool hangs = false;
    bool speaks_http = false;
    int connections = 0;
    std::string commands;  // their first words

    FakeRedis() : listener_(*runtime::listen_tcp({"127.0.0.1", 0})) {
        accepting_ = runtime::spawn("fake-redis", [this] {
            while (true) {
                auto socket = listener_->accept(Deadline::never());
                if (!socket) return;
                ++connections;
                serving_.push_back(runtime::spawn("fake-redis", [this, s = std::move(*socket)] { serve(*s); }));
            }
        });
    }
    ~FakeRedis() {
        accepting_.cancel_and_join();
        drop();
    }
    void drop() {
        for (auto& task : serving_) task.cancel_and_join();
        serving_.clear();
    }
    std::string address() const { return fmt::format("127.0.0.1:{}", listener_->port()); }

  private:
    void serve(runtime::ByteStream& socket) {
        redis::ReplyReader reader;
        bool authorized = password.empty();
        std::array<uint8_t, 4096> buffer;
        while (true) {
            auto read = socket.read(buffer, Deadline::never());
            if (!read || *read == 0) return;
            reader.feed(std::span(buffer).first(*read));
            std::string out;
            while (true) {
                auto command = reader.next();
                if (!command) return;
                if (!*command) break;
                out += answer((*command)->elements, authorized);
            }
            while (hangs)
                if (!runtime::sleep_ms(5)) return;
            if (!socket.write({reinterpret_cast<const uint8_t*>(out.data()), out.size()}, Deadline::in_ms(1'000)))
                return;
        }
    }
    std::string answer(const std::vector<redis::Reply>& words, bool& authorized) {
        if (speaks_http) return "HTTP/1.1 400 Bad Request\r\n\r\n";
        const std::string& name = words.at(0).text;
        commands += name + ";";
        if (name == "AUTH") {
            authorized = words.back().text == password;
            return authorized ? "+OK\r\n" : "-WRONGPASS invalid username-password pair\r\n";
        }
        if (!authorized) return "-NOAUTH Authentication required.\r\n";
        if (name == "PING") return "+PONG\r\n";
        if (name == "SELECT") return "+OK\r\n";
        if (name == "GET") return fmt::format("${}\r\n{}\r\n", words.at(1).text.size(), words.at(1).text);
        return "-ERR unknown command\r\n";
    }

    std::unique_ptr<runtime::TcpListener> listener_;
    runtime::Task accepting_;
    std::vector<runtime::Task> serving_;
};

class RedisClientTest : public runtime::testing::RuntimeTest {
  protected:
    RedisOptions options() {
        RedisOptions options;
        options.enabled = true;
        options.server = redis_.address();
        options.timeout = 300;
        return options;
    }
    std::string get(const std::string& key) {
        auto replies = client_.call(redis::command({"GET", key}), 1);
        return replies ? replies->at(0).text : "failed: " + replies.error().text();
    }
    template <class Condition>
    bool until(Condition condition) {
        for (int i = 0; i < 2'000 && !condition(); ++i) (void)runtime::sleep_ms(5).has_value();
        return condition();
    }
    int ups_ = 0;
    FakeRedis redis_;
    RedisClient client_{[this] { ++ups_; }};
};

TEST_F(RedisClientTest, CallsShareAConnection) {
    client_.start(options());
    std::vector<runtime::Task> tasks;
    int right = 0;
    for (int i = 0; i < 100; ++i)
        tasks.push_back(
            runtime::spawn("get", [&, i] { right += get(fmt::format("k{}", i)) == fmt::format("k{}", i); }));
    for (auto& task : tasks) EXPECT_TRUE(ok(task.join(Deadline::in_ms(5'000))));
    EXPECT_EQ(right, 100) << "each gets its own answer";
    EXPECT_EQ(redis_.connections, 1);
    const std::string large(60'000, 'x');
    EXPECT_EQ(get(large), large);
    EXPECT_EQ(ups_, 1);
}

TEST_F(RedisClientTest, ACallThatIsCancelledTakesNoAnswerOfAnother) {
    client_.start(options());
    ASSERT_EQ(get("a"), "a");
    redis_.hangs = true;
    auto first = runtime::spawn("get", [&] { (void)get("first"); });
    (void)runtime::sleep_ms(20).has_value();
    first.cancel_and_join();
    redis_.hangs = false;
    EXPECT_EQ(get("second"), "second");
}

TEST_F(RedisClientTest, OneThatHangsIsAway) {
    client_.start(options());
    ASSERT_EQ(get("a"), "a");
    redis_.hangs = true;
    const int64_t began_ms = runtime::now_ms();
    EXPECT_NE(get("b").find("failed"), std::string::npos);
    EXPECT_LT(runtime::now_ms() - began_ms, 1'000);
    ASSERT_TRUE(until([&] { return client_.state() != RedisClient::State::kUp; }));
    EXPECT_EQ(client_.problem(), "no answer for 300 ms");
    const int64_t again_ms = runtime::now_ms();
    EXPECT_TRUE(failed_with(client_.call(redis::command({"PING"}), 1), base::Code::kClosed));
    EXPECT_LT(runtime::now_ms() - again_ms, 50) << "nobody waits for one that is away";
    redis_.hangs = false;
    EXPECT_TRUE(until([&] { return get("c") == "c"; })) << client_.problem();
    EXPECT_EQ(ups_, 2);
}

TEST_F(RedisClientTest, OneThatHangsIsFoundWithoutACall) {
    client_.start(options());
    ASSERT_EQ(get("a"), "a");
    redis_.hangs = true;
    EXPECT_TRUE(until([&] { return client_.state() == RedisClient::State::kAway; }));
}

TEST_F(RedisClientTest, ABrokenConnectionFailsItsCalls) {
    client_.start(options());
    ASSERT_EQ(get("a"), "a");
    redis_.hangs = true;
    std::string answer;
    auto task = runtime::spawn("get", [&] { answer = get("b"); });
    (void)runtime::sleep_ms(20).has_value();
    redis_.drop();
    EXPECT_TRUE(ok(task.join(Deadline::in_ms(200)))) << "not only at its timeout";
    EXPECT_EQ(answer, "failed: it closed the connection");
    redis_.hangs = false;
    EXPECT_TRUE(until([&] { return get("c") == "c"; }));
}

TEST_F(RedisClientTest, APasswordIsSentFirst) {
    redis_.password = "right";
    RedisOptions with = options();
    with.db = 3;
    client_.start(with);
    EXPECT_NE(get("a").find("NOAUTH"), std::string::npos) << get("a");
    with.password = "wrong";
    client_.reload(with);
    EXPECT_TRUE(until([&] { return client_.problem().find("WRONGPASS") != std::string::npos; })) << client_.problem();
    redis_.commands.clear();
    with.password = "right";
    client_.reload(with);
    EXPECT_TRUE(until([&] { return get("a") == "a"; })) << client_.problem();
    EXPECT_TRUE(redis_.commands.starts_with("AUTH;SELECT;PING;")) << redis_.commands;
}

TEST_F(RedisClientTest, WhatIsNoRedisIsAway) {
    redis_.speaks_http = true;
    client_.start(options());
    EXPECT_NE(get("a").find("no reply"), std::string::npos) << get("a");
    RedisOptions closed = options();
    closed.server = "127.0.0.1:1";
    client_.reload(closed);
    EXPECT_TRUE(until([&] { return client_.problem().starts_with("connecting"); })) << client_.problem();
    closed.enabled = false;
    client_.reload(closed);
    EXPECT_TRUE(until([&] { return client_.state() == RedisClient::State::kOff; }));
    EXPECT_NE(get("a").find("failed"), std::string::npos);
}

TEST_F(RedisClientTest, CallsAreLimited) {
    client_.start(options());
    ASSERT_EQ(get("a"), "a");
    redis_.hangs = true;
    std::vector<runtime::Task> tasks;
    for (size_t i = 0; i < RedisClient::kMaxCalls; ++i) tasks.push_back(runtime::spawn("get", [&] { (void)get("b"); }));
    (void)runtime::sleep_ms(20).has_value();
    EXPECT_TRUE(failed_with(client_.call(redis::command({"PING"}), 1), base::Code::kLimit));
    for (auto& task : tasks) task.cancel_and_join();
}

TEST_F(RedisClientTest, AnErrorOfRedisIsNoAnswerOfTheStore) {
    client_.start(options());
    RedisStore store(client_);
    EXPECT_EQ(*store.find("key"), "key");
    const Store::Claim claim{"k", "v", ""};
    auto claimed = store.claim({&claim, 1});
    EXPECT_TRUE(failed_with(claimed, base::Code::kRefused));
    EXPECT_EQ(claimed.error().text(), "Redis: ERR unknown command");
    EXPECT_TRUE(failed_with(store.acquire("k", "v"), base::Code::kRefused));
    EXPECT_TRUE(failed_with(store.release({&claim, 1}), base::Code::kRefused));
    EXPECT_EQ(get("still"), "still") << "the connection goes on";
}

}  // namespace
}  // namespace service::cluster
