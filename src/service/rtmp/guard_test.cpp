// Guards that yield: which requests they are asked about, what continues meanwhile, and that each beginning has one
// end.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "runtime/loop/sync.h"
#include "runtime/loop/testing.h"
#include "service/rtmp/service.h"
#include "service/rtmp/testing.h"

namespace service::rtmp {
namespace {

using net::Action;
using runtime::Deadline;
using runtime::testing::ok;
using testing::kInterFrame;
using testing::kKeyframe;
using testing::kVideoHeader;
using testing::TestClient;

constexpr std::string_view kVideoStart = "9@0 17:46;9@0 17:12;";

// Delays requests for streams whose name begins with "slow" until the test allows them, and refuses those that begin
// with "no" or end with "-no".
class SlowGuard final : public net::Guard {
  public:
    base::Result<void> admit(const net::Visitor& visitor, const config::Vhost&) override {
        notes += fmt::format("{} {}{};", net::action_name(visitor.action), visitor.stream, visitor.param);
        if (visitor.stream.starts_with("no")) return base::fail(base::Code::kRefused, "the guard says no");
        if (visitor.stream.starts_with("slow")) TRY(word.wait(Deadline::in_ms(20'000)));
        if (visitor.stream.ends_with("-no")) return base::fail(base::Code::kRefused, "the guard says no, slowly");
        ++inside;
        return {};
    }
    bool may_yield(Action, const config::Vhost&) const override { return true; }
    bool follows(Action, const config::Vhost&) const override { return true; }
    void left(const net::Visitor& visitor, const net::Traffic&) override {
        notes += fmt::format("-{} {};", net::action_name(visitor.action), visitor.stream);
        --inside;
    }
    std::string notes;
    int inside = 0;
    runtime::Event word;
};

// Notes the keys that it is asked about, and the tcUrl of each connect.
class KeyGuard final : public net::Guard {
  public:
    base::Result<void> admit(const net::Visitor& visitor, const config::Vhost&) override {
        const bool connect = visitor.action == Action::kConnect;
        notes += fmt::format("{} {}/{}{} {};", net::action_name(visitor.action), visitor.vhost, visitor.app,
                             visitor.param, connect ? visitor.tc_url : visitor.stream);
        if (connect && visitor.vhost == refused_vhost) return base::fail(base::Code::kRefused, "not to tok");
        inside += connect ? 1 : 0;
        return {};
    }
    bool follows(Action action, const config::Vhost&) const override { return action == Action::kConnect; }
    void left(const net::Visitor&, const net::Traffic&) override { --inside; }
    std::string notes, refused_vhost;
    int inside = 0;
};

class RtmpGuardTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        snapshot_ = std::make_shared<config::Snapshot>(*config::default_snapshot());
        snapshot_->rtmp.listen = {{"127.0.0.1", 0}};
        snapshot_->rtmp.handshake_timeout = 500;
        snapshot_->vhosts.front().play.mw_latency = 0;
        snapshot_->vhosts.front().play.rejoin_timeout = 100;
        snapshot_->vhosts.front().publish.normal_timeout = 2000;
        gate_.add(guard_);
        registry_.start();
        service_ = std::make_unique<Service>(snapshot_, sessions_, registry_, gate_);
        ASSERT_TRUE(ok(service_->start()));
    }
    void TearDown() override {
        service_->stop();
        service_.reset();
        EXPECT_EQ(sessions_.size(), 0u);
        EXPECT_EQ(guard_.inside, 0) << guard_.notes;
        registry_.stop();
    }
    std::unique_ptr<TestClient> client(bool publish, const std::string& path) {
        return std::make_unique<TestClient>(service_->port(), publish, path);
    }
    std::unique_ptr<TestClient> running(const std::string& path) {
        auto c = client(true, path);
        EXPECT_TRUE(ok(c->open()));
        c->send(::rtmp::kVideo, 0, kVideoHeader);
        c->send(::rtmp::kVideo, 0, kKeyframe);
        return c;
    }
    void until_gone() {
        for (int i = 0; i < 500 && sessions_.size() > 0; ++i) (void)runtime::sleep_ms(10).has_value();
        EXPECT_EQ(sessions_.size(), 0u);
    }
    // Waits until the guard has been asked this.
    bool asked(std::string_view what) {
        for (int i = 0; i < 500 && guard_.notes.find(what) == std::string::npos; ++i)
            (void)runtime::sleep_ms(10).has_value();
        return guard_.notes.find(what) != std::string::npos;
    }

    std::shared_ptr<config::Snapshot> snapshot_;
    net::SessionTable sessions_;
    live::Registry registry_;
    SlowGuard guard_;
    net::Gate gate_;
    std::unique_ptr<Service> service_;
};

TEST_F(RtmpGuardTest, ARefusalIsToldWithItsReason) {
    for (bool publish : {true, false}) {
        auto c = client(publish, "live/no?k=v");
        auto opened = c->open();
        ASSERT_FALSE(opened);
        EXPECT_NE(opened.error().text().find("the guard says no"), std::string::npos) << opened.error().text();
        c->read_to_end();
    }
    EXPECT_TRUE(asked("-connect ;connect ;play no?k=v;-connect ;")) << guard_.notes;
    EXPECT_TRUE(guard_.notes.starts_with("connect ;publish no?k=v;")) << guard_.notes;
}

// What was admitted at connect holds for that vhost and app alone.
TEST_F(RtmpGuardTest, AnotherKeyIsAskedAboutLikeAConnectOfItsOwn) {
    KeyGuard keys;
    gate_.remove(guard_);
    gate_.add(keys);
    snapshot_->vhosts.push_back(snapshot_->vhosts.front());
    snapshot_->vhosts.back().name = "tok";
    struct Row {
        const char* path;
        const char* asked;
    };
    for (const Row& row : {Row{"live/s", ""}, Row{"live?vhost=tok/s", ""}, Row{"live/s?vhost=__defaultVhost__", ""},
                           Row{"live/s?vhost=tok&k=v", "connect tok/live?k=v rtmp://tok/live?k=v;"},
                           Row{"live/s?domain=tok", "connect tok/live rtmp://tok/live;"},
                           Row{"live/s...vhost...tok", "connect tok/live rtmp://tok/live;"},
                           Row{"live?vhost=tok/s?vhost=__defaultVhost__",
                               "connect __defaultVhost__/live rtmp://__defaultVhost__/live;"}}) {
        for (bool publish : {true, false}) {
            keys.notes.clear();
            auto c = client(publish, row.path);
            ASSERT_TRUE(ok(c->open())) << row.path;
            const size_t first = keys.notes.find(';') + 1;  // behind the connect
            EXPECT_TRUE(keys.notes.starts_with("connect ")) << keys.notes;
            EXPECT_EQ(keys.notes.substr(first, keys.notes.rfind(publish ? "publish " : "play ") - first), row.asked)
                << row.path;
            c.reset();
            until_gone();
            EXPECT_EQ(keys.inside, 0) << row.path << ": each connect has its end";
        }
    }
    gate_.remove(keys);
}

TEST_F(RtmpGuardTest, AnotherKeyMayBeRefused) {
    KeyGuard keys;
    keys.refused_vhost = "tok";
    gate_.remove(guard_);
    gate_.add(keys);
    snapshot_->vhosts.push_back(snapshot_->vhosts.front());
    snapshot_->vhosts.back().name = "tok";
    auto owner = running("live/s");
    for (bool publish : {true, false}) {
        auto c = client(publish, "live/s?vhost=tok");
        auto opened = c->open();
        ASSERT_FALSE(opened);
        EXPECT_NE(opened.error().text().find("not to tok"), std::string::npos) << opened.error().text();
        EXPECT_EQ(keys.notes.find(publish ? "publish tok" : "play tok"), std::string::npos) << keys.notes;
    }
    owner.reset();
    until_gone();
    gate_.remove(keys);
}

TEST_F(RtmpGuardTest, WhoWaitsHoldsUpNobody) {
    auto slow = client(true, "live/slow");
    bool opened = false;
    auto task = runtime::spawn("slow", [&] { opened = slow->open().has_value(); });
    ASSERT_TRUE(asked("publish slow;"));
    auto p = running("live/a");
    auto v = client(false, "live/a");
    ASSERT_TRUE(ok(v->open()));
    EXPECT_EQ(v->media(2), kVideoStart);
    // Longer than handshake_timeout: the time that the guard takes is not counted against the client.
    for (int i = 1; i <= 6; ++i) {
        p->send(::rtmp::kVideo, static_cast<uint32_t>(10 + i * 10), kInterFrame);
        (void)runtime::sleep_ms(100).has_value();
    }
    guard_.word.set();
    ASSERT_TRUE(ok(task.join(Deadline::in_ms(5000))));
    EXPECT_TRUE(opened);
    slow.reset();
    EXPECT_TRUE(asked("-publish slow;-connect ;")) << guard_.notes;
}

TEST_F(RtmpGuardTest, WhoLeavesMeanwhileIsInAndOut) {
    auto slow = client(true, "live/slow");
    auto task = runtime::spawn("slow", [&] { (void)slow->open().has_value(); });
    ASSERT_TRUE(asked("publish slow;"));
    task.cancel_and_join();
    slow.reset();
    guard_.word.set();
    EXPECT_TRUE(asked("-publish slow;-connect ;")) << guard_.notes;
    // The name is free again.
    auto again = running("live/slow");
}

TEST_F(RtmpGuardTest, ASecondPublisherIsNotAskedAbout) {
    auto first = running("live/a");
    auto second = client(true, "live/a");
    EXPECT_FALSE(second->open());
    second->read_to_end();
    size_t at = guard_.notes.find("publish a;");
    EXPECT_EQ(guard_.notes.find("publish a;", at + 1), std::string::npos) << guard_.notes;
}

TEST_F(RtmpGuardTest, TheFirstOfTwoThatWaitedTogetherHasTheName) {
    auto one = client(true, "live/slow"), two = client(true, "live/slow");
    int opened = 0;
    auto open = [&](TestClient& c) { opened += c.open().has_value() ? 1 : 0; };
    auto first = runtime::spawn("one", [&] { open(*one); });
    auto second = runtime::spawn("two", [&] { open(*two); });
    auto both = [&] { return guard_.notes.find("publish slow;") != guard_.notes.rfind("publish slow;"); };
    for (int i = 0; i < 500 && !both(); ++i) (void)runtime::sleep_ms(10).has_value();
    ASSERT_TRUE(both()) << guard_.notes;
    guard_.word.set();
    ASSERT_TRUE(ok(first.join(Deadline::in_ms(5000))));
    ASSERT_TRUE(ok(second.join(Deadline::in_ms(5000))));
    EXPECT_EQ(opened, 1);
    EXPECT_TRUE(asked("-publish slow;")) << guard_.notes;  // of the client that was second
}

TEST_F(RtmpGuardTest, TheServerStopsWhileSomebodyIsAskedAbout) {
    auto slow = client(true, "live/slow");
    auto task = runtime::spawn("slow", [&] { (void)slow->open().has_value(); });
    ASSERT_TRUE(asked("publish slow;"));
    auto p = running("live/a");
    auto v = client(false, "live/a");
    ASSERT_TRUE(ok(v->open()));
    EXPECT_EQ(v->media(2), kVideoStart);
    service_->stop();
    ASSERT_TRUE(ok(task.join(Deadline::in_ms(5000))));
    EXPECT_EQ(sessions_.size(), 0u);
}

}  // namespace
}  // namespace service::rtmp
