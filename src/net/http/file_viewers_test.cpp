#include "net/http/file_viewers.h"

#include <gtest/gtest.h>

#include "net/http/http1_response.h"
#include "net/http/opened_files.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace net {
namespace {

using Strings = std::vector<std::string>;
using runtime::testing::failed_with;

struct TestGuard final : Guard {
    base::Result<void> admit(const Visitor& visitor, const config::Vhost&) override {
        log.push_back("asked for " + visitor.stream + (visitor.streams.empty() ? "" : ", several"));
        if (yields && !runtime::sleep_ms(10)) return base::fail(base::Code::kCancelled, "cancelled");
        if (refuses) return base::fail(base::Code::kRefused, "not you");
        return {};
    }
    base::Result<void> check(const Visitor&, const config::Vhost&) override {
        log.push_back("checked");
        return {};
    }
    bool may_yield(Action, const config::Vhost&) const override { return yields; }
    bool follows(Action, const config::Vhost&) const override { return is_following; }
    bool guards_parts(const config::Vhost&) const override { return has_parts; }
    void left(const Visitor&, const Traffic& traffic) override {
        log.push_back("left with " + std::to_string(traffic.sent_bytes));
    }
    Strings log{};
    bool yields = false, is_following = false, refuses = false, has_parts = false;
};

// Logs when it is destroyed.
struct Held {
    explicit Held(Strings& to) : log(to) {}
    ~Held() { log.push_back("released"); }
    Strings& log;
};

struct Other final : Session {
    using Session::Session;
    std::string stream_text() const override { return "v/live/p"; }
    Traffic traffic() const override { return {}; }
    void kick(std::string_view) override { kicked = true; }
    bool kicked = false;
};

FileViewers::Name name_of(const std::string& context, const std::string& stream = "s") {
    return {"v/live/" + stream, context};
}

class FileViewersTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        time_.emplace();
        gate_.add(guard_);
        request_.peer_ip = "1.2.3.4";
        request_.message.host = "v";
        request_.message.method = http::Method::kGet;
    }
    void TearDown() override {
        viewers_.end_all();
        gate_.remove(guard_);
        time_.reset();
    }
    base::Result<std::string> let_in(const std::string& context, const std::string& stream = "s", bool always = true) {
        return viewers_.let_in({"v", "live", stream}, context, {10'000, always}, vhost_, request_, nullptr);
    }
    // The viewer's id; empty: refused.
    std::string ask(const std::string& context, const std::string& stream = "s") {
        return let_in(context, stream).value_or("");
    }
    // A request of `received` bytes, and its response.
    HttpResponse::BodyObserver count(const FileViewers::Name& name, size_t received) {
        request_.message.target = std::string(received, 'x');
        Http1Response response(transport_, {files_, waiting_}, request_, options_, true);
        viewers_.count(name, stream_, request_, response);
        return response.take_observer();
    }
    void pass_ms(int64_t ms) {
        time_->pass_ms(ms);
        EXPECT_TRUE(viewers_.tick());
    }
    Traffic traffic(const std::string& id) { return table_.find(id)->traffic(); }

    std::optional<runtime::testing::SimulatedTime> time_;
    SessionTable table_;
    TestGuard guard_;
    Gate gate_;
    FileViewers viewers_{table_,
                         gate_,
                         {.hold =
                              [this](const base::StreamKey& key, const config::Vhost&) {
                                  guard_.log.push_back("held for " + key.name);
                                  return std::shared_ptr<void>(std::make_shared<Held>(guard_.log));
                              },
                          .members =
                              [](const base::StreamKey& key, const config::Vhost&) {
                                  return key.name == "all" ? std::vector<base::StreamKey>(2, key)
                                                           : std::vector<base::StreamKey>();
                              }}};
    config::Vhost vhost_;
    HttpRequest request_;
    HttpTransport transport_;
    OpenedFiles files_;
    AddressQuota waiting_{"requests", "a", "b"};
    HttpResponseOptions options_;
    const std::shared_ptr<const base::StreamKey> stream_ =
        std::make_shared<const base::StreamKey>(base::StreamKey{"v", "live", "s"});
};

TEST_F(FileViewersTest, AreSessionsUntilTheyAreSilent) {
    const std::string own = ask("");
    EXPECT_EQ(ask(own), own) << "what was issued for the stream is the session's id";
    pass_ms(4'000);
    EXPECT_EQ(ask(own), own);
    const auto sent = count(name_of(own), 10), unknown = count(name_of("unknown"), 10);
    pass_ms(1'000);
    sent(200);
    unknown(3);
    ASSERT_EQ(table_.size(), 1u);
    Session* session = table_.find(own);
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(session->type(), SessionType::kHlsPlay);
    EXPECT_EQ(session->stream_text(), "v/live/s");
    EXPECT_EQ(session->traffic().received_bytes, 10u);
    EXPECT_EQ(session->traffic().sent_bytes, 200u);
    ASSERT_NE(session->stream_account(), nullptr);
    EXPECT_EQ(session->stream_account()->key().text(), "v/live/s");
    EXPECT_EQ(session->details().tc_url, "rtmp://v/live");
    pass_ms(9'999);
    EXPECT_EQ(table_.size(), 1u);
    pass_ms(1);
    EXPECT_EQ(table_.size(), 0u);
    EXPECT_FALSE(viewers_.is_viewer(name_of(own)));
    sent(5);  // a response that outlasts its viewer
}

TEST_F(FileViewersTest, AContextThatAClientBringsIsNoId) {
    Other publisher(table_, "pub12345", "5.6.7.8");
    const std::string id = ask("pub12345");
    ASSERT_FALSE(id.empty());
    EXPECT_NE(id, "pub12345");
    EXPECT_EQ(table_.find("pub12345"), &publisher);
    EXPECT_EQ(ask("pub12345"), id) << "it is recognized by the context that it sent";
    EXPECT_EQ(ask(id), id) << "and by the id in its playlists";
    count(name_of(id), 1);
    count(name_of("pub12345"), 1);
    EXPECT_EQ(traffic(id).received_bytes, 2u);
    EXPECT_EQ(table_.size(), 2u);
    table_.find(id)->kick("by the operator");
    pass_ms(1);
    EXPECT_FALSE(publisher.kicked);
    for (const std::string& context : {id, std::string("pub12345")}) {
        EXPECT_TRUE(viewers_.knows(name_of(context)) && !viewers_.is_viewer(name_of(context)));
        EXPECT_TRUE(failed_with(viewers_.check_file(name_of(context), vhost_), base::Code::kRefused));
    }
}

TEST_F(FileViewersTest, IdsStayUnique) {
    request_.message.method = http::Method::kHead;
    const std::string issued = ask("");
    request_.message.method = http::Method::kGet;
    EXPECT_TRUE(viewers_.knows(name_of(issued)));
    Other taken(table_, issued, "5.6.7.8");
    EXPECT_NE(ask(issued), issued);
}

TEST_F(FileViewersTest, AContextOfAnotherStreamIsNone) {
    const std::string own = ask("");
    const std::string elsewhere = ask(own, "t");
    EXPECT_NE(elsewhere, own) << "it was issued for another stream";
    EXPECT_EQ(ask(own), own);
    EXPECT_NE(table_.find(elsewhere), table_.find(own));
    count(name_of(own, "t"), 7);
    EXPECT_EQ(traffic(elsewhere).received_bytes, 7u);
    EXPECT_EQ(traffic(own).received_bytes, 0u);
    table_.find(own)->kick("by the operator");
    pass_ms(1);
    EXPECT_TRUE(viewers_.is_viewer(name_of(own, "t")));
}

TEST_F(FileViewersTest, WhatIsIssuedIsBounded) {
    request_.message.method = http::Method::kHead;
    const std::string first = ask(""), second = ask("");
    EXPECT_NE(first, second);
    for (size_t i = 1; i < FileViewers::kMaxIssued; ++i) ask("");
    request_.message.method = http::Method::kGet;
    EXPECT_NE(ask(first), first) << "dropped: served under another id";
    EXPECT_EQ(ask(second), second);
}

TEST_F(FileViewersTest, OneThatIsKickedStaysOut) {
    const std::string id = ask("abc");
    table_.find(id)->kick("by the operator");
    pass_ms(100);
    EXPECT_EQ(table_.size(), 0u);
    EXPECT_TRUE(failed_with(let_in("abc"), base::Code::kRefused));
    pass_ms(61'000);
    EXPECT_NE(ask("abc"), "");
}

TEST_F(FileViewersTest, AreBoundedButAreNoConnections) {
    viewers_.quota().set_limits({2, 0, 0, 0, {}});
    const std::string first = ask("a");
    ASSERT_NE(ask("b"), "");
    EXPECT_EQ(ask("a"), first);
    EXPECT_TRUE(failed_with(let_in("c"), base::Code::kLimit));
    EXPECT_EQ(table_.admission().connections(), 0u);
    EXPECT_EQ(viewers_.quota().count(), 2u);
    table_.find(first)->kick("room");
    pass_ms(1);
    EXPECT_NE(ask("abcdefgh"), "");
    EXPECT_EQ(table_.size(), 2u);
    EXPECT_TRUE(FileViewers::is_context("aZ09-_"));
    for (const char* bad : {"", "a/b", "a b", "../x", "012345678"}) EXPECT_FALSE(FileViewers::is_context(bad)) << bad;
}

TEST_F(FileViewersTest, GuardsAreAskedOnce) {
    guard_.yields = guard_.is_following = true;
    std::vector<runtime::Task> players;
    Strings ids;
    for (int i = 0; i < 3; ++i) players.push_back(runtime::spawn("player", [&] { ids.push_back(ask("abc")); }));
    pass_ms(100);
    for (const runtime::Task& player : players) EXPECT_TRUE(player.done());
    EXPECT_EQ(ids, Strings(3, ids.front()));
    count(name_of("abc"), 1)(40);
    pass_ms(10'000);
    EXPECT_EQ(guard_.log, (Strings{"asked for s", "held for s", "released", "left with 40"}));
}

TEST_F(FileViewersTest, WhomNobodyFollowsIsAViewerOnlyIfItStays) {
    EXPECT_NE(let_in("", "s", false).value_or(""), "");
    EXPECT_EQ(viewers_.size(), 0u);
    guard_.is_following = true;
    EXPECT_NE(let_in("", "s", false).value_or(""), "");
    EXPECT_EQ(viewers_.size(), 1u);
}

TEST_F(FileViewersTest, OfAGroupGuardsKnowTheStreams) {
    ask("abc", "all");
    EXPECT_EQ(guard_.log, (Strings{"asked for all, several", "held for all"}));
}

TEST_F(FileViewersTest, AHeadRequestIsOnlyChecked) {
    guard_.is_following = true;
    request_.message.method = http::Method::kHead;
    EXPECT_NE(ask(""), "");
    EXPECT_EQ(viewers_.size(), 0u);
    EXPECT_EQ(guard_.log, Strings{"checked"});
}

TEST_F(FileViewersTest, WhoIsRefusedIsNone) {
    guard_.refuses = true;
    EXPECT_TRUE(failed_with(let_in("abc"), base::Code::kRefused));
    EXPECT_EQ(viewers_.size() + viewers_.quota().count(), 0u);
    guard_.has_parts = true;
    EXPECT_TRUE(failed_with(viewers_.check_file(name_of("abc"), vhost_), base::Code::kRefused));
    guard_.refuses = false;
    ask("abc");
    EXPECT_TRUE(viewers_.check_file(name_of("abc"), vhost_).has_value());
}

}  // namespace
}  // namespace net
