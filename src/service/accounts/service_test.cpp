#include "service/accounts/service.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "base/json.h"
#include "config/test_util.h"
#include "runtime/loop/testing.h"

namespace service::accounts {
namespace {

using runtime::testing::ok;

struct TestSession final : net::Session {
    using Session::keep_figures;
    using Session::log_end;
    TestSession(net::SessionTable& table, std::string_view id, net::SessionType type, std::string param = "",
                bool publishing = false)
        : Session(table, id, "192.0.2.7"), param_(std::move(param)) {
        set_type(type);
        enter_stream({"v", "live", "cam"}, publishing);
    }
    std::string stream_text() const override { return "v/live/cam"; }
    net::Traffic traffic() const override { return bytes; }
    net::ClientDetails details() const override {
        return {.page_url = "http://a.example/p?token=hidden", .params = param_};
    }
    net::SessionFigures figures() const override { return now; }
    void kick(std::string_view) override {}

    net::Traffic bytes;
    net::SessionFigures now{.frames = 3, .first_frame_ms = 12};
    std::string param_;
};

class AccountsTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        directory_ = std::filesystem::temp_directory_path() / ("accounts-" + runtime::new_context_id());
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    static config::SnapshotPtr snapshot(const ServerConfig& own) {
        auto made = std::make_shared<config::Snapshot>();
        made->get<ServerConfig>() = own;
        config::Vhost vhost;
        vhost.name = "v";
        vhost.enabled = true;
        vhost.signed_urls = {.enabled = true, .secret = {"s"}, .publish = false, .play = true};
        made->vhosts.push_back(std::move(vhost));
        return made;
    }
    ServerConfig all() const {
        return {.access_log = {.enabled = true, .path = (directory_ / "access.log").string()},
                .audit_log = {.enabled = true, .path = (directory_ / "audit.log").string()},
                .usage = {.enabled = true, .path = (directory_ / "usage.txt").string()}};
    }
    std::vector<base::Json> lines(const char* name) const {
        std::vector<base::Json> found;
        std::ifstream file(directory_ / name);
        for (std::string line; std::getline(file, line);) found.push_back(base::parse_json(line));
        return found;
    }

    std::filesystem::path directory_;
    net::SessionTable sessions_;
};

TEST_F(AccountsTest, TheEndOfASessionIsALine) {
    Service service(snapshot(all()), sessions_);
    ASSERT_TRUE(ok(service.start()));
    {
        TestSession session(sessions_, "abc", net::SessionType::kFlvPlay, "?sign_name=acme&sign=x");
        session.set_agent("VLC");
        session.bytes = {10, 2000};
        session.now.skips = 2;
        session.keep_figures();
        session.now = {};
        session.log_end("closed by the peer", base::CloseReason::kPeerClosed);
    }
    service.stop();
    const auto found = lines("access.log");
    ASSERT_EQ(found.size(), 1u);
    const base::Json& line = found[0];
    const struct {
        const char* name;
        base::Json value;
    } wanted[] = {{"id", "abc"},
                  {"ip", "192.0.2.7"},
                  {"agent", "VLC"},
                  {"token", "acme"},
                  {"page", "http://a.example/p"},
                  {"stream", "cam"},
                  {"sent_bytes", 2000},
                  {"skips", 2},
                  {"frames", 3},
                  {"first_frame_ms", 12},
                  {"reason", "peer-closed"},
                  {"text", "closed by the peer"}};
    for (const auto& row : wanted) EXPECT_EQ(line[row.name], row.value) << row.name << " of " << line;
    EXPECT_EQ(sessions_.closed().newest(0).token, "acme");
}

TEST_F(AccountsTest, OffNobodyIsTold) {
    Service service(snapshot({}), sessions_);
    ASSERT_TRUE(ok(service.start()));
    TestSession session(sessions_, "abc", net::SessionType::kFlvPlay, "?sign_name=acme");
    session.log_end("closed", base::CloseReason::kPeerClosed);
    EXPECT_EQ(sessions_.closed().newest(0).token, "") << "it is not asked for";
    EXPECT_EQ(service.ledger().size(), 0u);
    EXPECT_EQ(service.past_sessions({}).error().code(), base::Code::kConfig);
    service.audit({.action = "signal"});
    service.stop();
    EXPECT_FALSE(std::filesystem::exists(directory_));
}

TEST_F(AccountsTest, AReloadSwitchesTheLog) {
    ServerConfig own = all();
    own.usage.enabled = false;
    Service service(snapshot({}), sessions_);
    ASSERT_TRUE(ok(service.start()));
    const auto end_one = [&](const char* id) {
        TestSession(sessions_, id, net::SessionType::kFlvPlay).log_end("closed", base::CloseReason::kPeerClosed);
    };
    end_one("off");
    own.access_log.fields = {"id"};
    service.reload(snapshot(own));
    end_one("on");
    service.reload(snapshot({}));
    end_one("off again");
    service.stop();
    ASSERT_EQ(lines("access.log").size(), 1u);
    EXPECT_EQ(lines("access.log")[0], base::parse_json("{\"id\":\"on\"}"));
}

TEST_F(AccountsTest, UsageIsByStreamAndToken) {
    Service service(snapshot(all()), sessions_);
    ASSERT_TRUE(ok(service.start()));
    std::vector<std::unique_ptr<TestSession>> players;
    for (const char* param : {"?sign_name=acme", "?sign_name=acme", "", "?sign_name=other"}) {
        players.push_back(std::make_unique<TestSession>(sessions_, std::to_string(players.size()),
                                                        net::SessionType::kFlvPlay, param));
        players.back()->bytes = {5, 1000};
    }
    players[1]->set_agent("another");
    TestSession publisher(sessions_, "p", net::SessionType::kFmlePublish, "?sign_name=forged", true);
    publisher.bytes = {7000, 3};
    ASSERT_TRUE(ok(sessions_.count()));
    players[0]->bytes.sent_bytes = 1500;
    for (auto& player : players) player->log_end("closed", base::CloseReason::kPeerClosed);
    const net::UsageLedger& ledger = service.ledger();
    ASSERT_EQ(ledger.size(), 3u);
    net::Usage sum;
    for (const auto* row = ledger.first(); row; row = ledger.after(row->first)) {
        sum += row->second;
        if (row->first.token == "acme") {
            EXPECT_EQ(row->second.sent, 2500u);
            EXPECT_EQ(row->second.sessions, 2u);
            EXPECT_EQ(row->second.viewers.count(), 2u);
        }
        if (row->first.token.empty()) {
            EXPECT_EQ(row->second.received, 7000u) << "publish URLs are not signed";
        }
    }
    EXPECT_EQ(sum.sent, 4500u);
    EXPECT_EQ(sum.sessions, 5u);
    EXPECT_EQ(sum.peak, 4u);
    service.stop();
}

TEST_F(AccountsTest, PlaysOfStreamsThatNobodyPublishesTakeNoRows) {
    Service service(snapshot(all()), sessions_);
    ASSERT_TRUE(ok(service.start()));
    std::vector<std::unique_ptr<TestSession>> players;
    for (int i = 0; i < 50; ++i) {
        players.push_back(std::make_unique<TestSession>(sessions_, std::to_string(i), net::SessionType::kFlvPlay,
                                                        "?sign_name=made-up-" + std::to_string(i)));
        players.back()->enter_stream({"v", "live", "made-up-" + std::to_string(i)}, false);
        players.back()->bytes = {5, 100};
    }
    sessions_.accounts().add({"v", "live", "made-up"}, {0, 7});
    ASSERT_TRUE(ok(sessions_.count()));
    const net::UsageLedger& ledger = service.ledger();
    ASSERT_EQ(ledger.size(), 1u);
    EXPECT_EQ(ledger.first()->first.stream.name, net::UsageLedger::kOther);
    EXPECT_EQ(ledger.first()->second.sent, 5007u);
    {
        TestSession publisher(sessions_, "p", net::SessionType::kFmlePublish);
        publisher.enter_stream({"v", "live", "made-up-7"}, true);
        publisher.bytes = {9, 0};
        ASSERT_TRUE(ok(sessions_.count()));
    }
    players[7]->bytes.sent_bytes += 40;
    ASSERT_TRUE(ok(sessions_.count()));
    sessions_.accounts().add({"v", "live", "made-up-7"}, {0, 2});
    const int day = ledger.first()->first.day;
    const net::Usage* row = ledger.find({day, {"v", "live", "made-up-7"}, "made-up-7"});
    ASSERT_NE(row, nullptr) << "it was published meanwhile";
    EXPECT_EQ(row->sent, 40u);
    row = ledger.find({day, {"v", "live", "made-up-7"}, ""});
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->received, 9u);
    EXPECT_EQ(row->sent, 2u);
    service.stop();
}

TEST_F(AccountsTest, ExpiredDaysAreNotReadAtTheStart) {
    ServerConfig own = all();
    own.usage.rows = 10;
    const net::UsageKey kept{20991231, {"v", "live", "cam"}, ""};
    std::filesystem::create_directories(directory_);
    {
        std::ofstream file(own.usage.path);
        for (int i = 0; i < 20; ++i)
            file << net::usage_line({20200101, {"v", "live", std::to_string(i)}, ""}, {.sent = 1});
        file << net::usage_line(kept, {.sent = 3});
    }
    Service service(snapshot(own), sessions_);
    ASSERT_TRUE(ok(service.start()));
    EXPECT_EQ(service.ledger().size(), 1u);
    EXPECT_EQ(service.ledger().overflows(), 0u);
    EXPECT_NE(service.ledger().find(kept), nullptr);
    service.stop();
}

TEST_F(AccountsTest, PastSessionsAreReadFromTheFile) {
    Service service(snapshot(all()), sessions_);
    ASSERT_TRUE(ok(service.start()));
    for (int i = 0; i < 50; ++i)
        TestSession(sessions_, "id" + std::to_string(i), net::SessionType::kFlvPlay)
            .log_end("closed", base::CloseReason::kPeerClosed);
    for (int i = 0; i < 500 && service.access_log().counters().written < 50; ++i) (void)runtime::sleep_ms(10);
    const auto past = service.past_sessions({.stream = "live/cam", .most = 100});
    ASSERT_TRUE(ok(past));
    ASSERT_EQ(past->sessions.size(), 50u);
    EXPECT_EQ(past->sessions[0].id, "id49");
    EXPECT_TRUE(past->complete);
    EXPECT_EQ(service.past_sessions({.client = "id7", .most = 100})->sessions.size(), 1u);
    EXPECT_EQ(service.past_sessions({.stream = "am", .most = 100})->sessions.size(), 0u);
    EXPECT_EQ(service.past_sessions({.from_ms = base::wall_ms() + 1000, .most = 100})->sessions.size(), 0u);
    EXPECT_FALSE(service.past_sessions({.most = 3})->complete);
    service.stop();
}

TEST_F(AccountsTest, AReloadWhileASearchWaits) {
    Service service(snapshot(all()), sessions_);
    ASSERT_TRUE(ok(service.start()));
    TestSession(sessions_, "one", net::SessionType::kFlvPlay).log_end("closed", base::CloseReason::kPeerClosed);
    for (int i = 0; i < 500 && service.access_log().counters().written < 1; ++i) (void)runtime::sleep_ms(10);
    size_t found = 0;
    std::vector<runtime::Task> searches;
    for (int i = 0; i < 3; ++i)
        searches.push_back(runtime::spawn("search", [&] {
            if (const auto past = service.past_sessions({.most = 10})) found += past->sessions.size();
        }));
    (void)runtime::yield();
    // The configuration that they began with is destroyed.
    ServerConfig next = all();
    next.access_log.path = (directory_ / "another.log").string();
    service.reload(snapshot(next));
    for (runtime::Task& search : searches) ASSERT_TRUE(ok(search.join(runtime::Deadline::in_ms(10'000))));
    EXPECT_EQ(found, 3u) << "each in the file of its beginning";
    service.stop();
}

TEST_F(AccountsTest, AChangeIsALineWithoutSecrets) {
    Service service(snapshot(all()), sessions_);
    ASSERT_TRUE(ok(service.start()));
    service.audit({.action = "reload",
                   .what = "API",
                   .about = "vhost/forward/destination: rtmp://u:hidden@h/a?k=hidden -> nothing",
                   .result = "accepted"});
    service.stop();
    const auto found = lines("audit.log");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0]["what"], "API");
    EXPECT_EQ(found[0].dump().find("hidden"), std::string::npos) << found[0];
}

TEST_F(AccountsTest, ThePeakIsThatOfTheTimeSinceItWasTaken) {
    TestSession one(sessions_, "1", net::SessionType::kFlvPlay);
    const net::StreamAccount& account = *one.stream_account();
    {
        TestSession two(sessions_, "2", net::SessionType::kFlvPlay);
        TestSession publisher(sessions_, "3", net::SessionType::kFmlePublish, "", true);
        EXPECT_EQ(account.players(), 2u);
    }
    EXPECT_EQ(account.players(), 1u);
    EXPECT_EQ(account.take_peak(), 2u);
    EXPECT_EQ(account.take_peak(), 1u);
}

}  // namespace
}  // namespace service::accounts
