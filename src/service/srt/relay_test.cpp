// This server as a caller by SRT (service/relay): against its own listener, over sockets of this machine.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "live/hub/options.h"
#include "live/hub/owner_testing.h"
#include "live/hub/testing.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/udp.h"
#include "service/relay/source_runner.h"
#include "service/relay/srt_link.h"
#include "service/relay/srt_source.h"
#include "service/srt/config.h"
#include "service/srt/push_offer.h"
#include "service/srt/service.h"

namespace service::srt {
namespace {

using base::CloseReason;
using base::Code;
using runtime::Deadline;
using runtime::testing::ok;

constexpr std::string_view kPassphrase = "a-long-secret";

relay::SrtTarget target_of(uint16_t port, std::string_view parameters, std::string_view host = "127.0.0.1") {
    const std::string url = fmt::format("srt://{}:{}?{}", host, port, parameters);
    return {*::srt::parse_url(url), fmt::format("srt://{}:{}", host, port)};
}

struct SenderUser final : PacketSenderUser {
    std::string ended;
    void on_sender_end(std::string_view why, CloseReason) override { ended = why; }
};

net::SessionType pull_type() {
    static const net::SessionType kType = net::SessionType::add("srt-test-pull", true);
    return kType;
}

struct Pull final : relay::SourceRunner {
    Pull(relay::SourceOwner& owner, Options options, relay::SrtTarget where)
        : SourceRunner(owner, std::move(options)), target(std::move(where)) {}
    relay::SrtTarget target;
    std::optional<base::Error> error;
    std::vector<std::string> servers_now(const config::Vhost&) override { return {target.shown}; }
    base::Result<std::unique_ptr<relay::Source>> make_source(const std::string&, const config::Vhost&) override {
        return relay::make_srt_source({.target = target});
    }
    int64_t on_failure(const base::Error& failure) override {
        error.emplace(failure.code(), failure.text());
        return 0;
    }
};

class SrtRelayTest : public runtime::testing::RuntimeTest, private relay::SourceOwner {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        snapshot_ = std::make_shared<config::Snapshot>(*config::default_snapshot());
        server().enabled = true;
        server().listen = {{"127.0.0.1", 0}};
        vhost().get<VhostConfig>().enabled = true;
        vhost().play.mw_latency = 0;
        vhost().play.rejoin_timeout = 100;
        registry_.start();
    }
    void TearDown() override {
        if (pull_) {
            pull_->stop("the test ends", CloseReason::kServerStop);
            while (pull_) runtime::Task(pull_->coroutine()).cancel_and_join();
        }
        service_.reset();
        publication_.end();
        EXPECT_EQ(table_.size(), 0u);
        registry_.stop();
    }
    ServerConfig& server() { return snapshot_->get<ServerConfig>(); }
    config::Vhost& vhost() { return snapshot_->vhosts.front(); }
    void begin() {
        service_ = std::make_unique<Service>(snapshot_, table_, registry_, gate_);
        ASSERT_TRUE(ok(service_->start()));
    }
    base::Ref<live::Stream> stream(std::string name) {
        return registry_.find_or_create({"__defaultVhost__", "live", std::move(name)}, live::live_options(vhost()));
    }
    // Audio alone, which any player may begin with.
    void publish(std::string name) {
        publication_ = *stream(std::move(name))->acquire(owner_, false);
        publication_.publish(live::testing::header(media::Kind::kAudio, "\x12\x10"));
        publication_.publish(live::testing::audio(0, "before"));
    }
    std::unique_ptr<relay::SrtLink> link(std::string name, relay::SrtTarget target) {
        return std::make_unique<relay::SrtLink>(relay::SrtLinkOptions{
            .session_type = srt_forward_type(), .target = std::move(target), .stream = stream(std::move(name))});
    }
    base::Error error_of(std::string_view parameters, int64_t ms = 2'000) {
        const auto made = link("a", target_of(service_->port(), parameters));
        auto ready = made->begin(Deadline::in_ms(ms));
        EXPECT_FALSE(ready) << parameters;
        return ready ? base::Error(Code::kOther, "") : std::move(ready).error();
    }
    void pull(std::string name, relay::SrtTarget target) {
        relay::SourceOwner& owner = *this;
        pull_ = std::make_unique<Pull>(owner,
                                       relay::SourceRunner::Options{.log_name = "test",
                                                                    .session_type = pull_type(),
                                                                    .key = {"__defaultVhost__", "live", name},
                                                                    .connect_ms = 2'000,
                                                                    .on_demand = false,
                                                                    .is_configured = true},
                                       std::move(target));
        ASSERT_TRUE(pull_->start());
    }
    template <class Condition>
    static bool until(Condition condition) {
        for (int i = 0; i < 600 && !condition(); ++i) (void)runtime::sleep_ms(5).has_value();
        return condition();
    }

    std::shared_ptr<config::Snapshot> snapshot_;
    net::SessionTable table_;
    live::Registry registry_;
    net::Gate gate_;
    live::testing::Owner owner_;
    live::Publication publication_;
    std::unique_ptr<Service> service_;
    std::unique_ptr<Pull> pull_;

  private:
    const config::SnapshotPtr& snapshot() const override { return shared_snapshot_ = snapshot_; }
    net::SessionTable& sessions() override { return table_; }
    live::Registry& registry() override { return registry_; }
    const config::Vhost* fetching(const config::Snapshot& snapshot, std::string_view vhost) const override {
        return snapshot.find_vhost(vhost);
    }
    void source_ended(relay::SourceRunner&) override { pull_.reset(); }
    mutable config::SnapshotPtr shared_snapshot_;
};

TEST_F(SrtRelayTest, ALinkPublishesAndSaysThatItIsOver) {
    for (const bool encrypted : {false, true}) {
        server().passphrase = encrypted ? kPassphrase : "";
        begin();
        publish("a");
        SenderUser user;
        std::string parameters = "streamid=publish:live/b";
        if (encrypted) parameters += fmt::format("&pbkeylen=24&passphrase={}", kPassphrase);
        const auto made = link("a", target_of(service_->port(), parameters));
        auto ready = made->begin(Deadline::in_ms(2'000));
        ASSERT_TRUE(ok(ready));
        EXPECT_EQ(ready->detail, encrypted ? "delay 120 ms, encrypted, peer 1.5.5" : "delay 120 ms, peer 1.5.5");
        EXPECT_EQ(stream("a")->demand(), 0u) << "a server that gets the stream is no player";
        ready->sender->start(user);
        for (int ms = 20; ms < 400; ms += 20) publication_.publish(live::testing::audio(ms, "sound"));
        ASSERT_TRUE(until([&] { return stream("b")->tracks().get() != nullptr; }));
        ready->sender->finish();
        EXPECT_TRUE(until([&] { return !user.ended.empty(); }));
        EXPECT_EQ(user.ended, "the stream has ended");
        EXPECT_EQ(service_->sessions(), 1u);
        service_.reset();
        publication_.end();
        (void)runtime::sleep_ms(200).has_value();
    }
}

TEST_F(SrtRelayTest, RefusalsHaveTheirMeaning) {
    server().passphrase = kPassphrase;
    begin();
    base::Error wrong = error_of("streamid=publish:live/b&passphrase=another-secret");
    EXPECT_EQ(wrong.code(), Code::kRefused);
    EXPECT_EQ(wrong.close_reason(), CloseReason::kRefusedAuth);
    EXPECT_EQ(wrong.text(), "the listener refused: wrong passphrase (1010)");
    EXPECT_EQ(error_of("streamid=publish:live/b").close_reason(), CloseReason::kRefusedAuth);
    server().passphrase.clear();
    service_->reload(snapshot_);
    publish("b");
    EXPECT_EQ(error_of("streamid=publish:live/b").code(), Code::kBusy);
    EXPECT_EQ(error_of("streamid=%23!::h=other.example,r=live/b,m=publish,u=x").code(), Code::kBusy)
        << "the default vhost stands for all";
    vhost().get<VhostConfig>().enabled = false;
    EXPECT_EQ(error_of("streamid=publish:live/b").code(), Code::kNotFound);
}

TEST_F(SrtRelayTest, AStreamThatComesBackIsALoop) {
    begin();
    const auto made = link("a", target_of(service_->port(), fmt::format("streamid=%23!::r=live/b,m=publish,via=x:{}:y",
                                                                        registry_.instance())));
    EXPECT_FALSE(made->begin(Deadline::in_ms(2'000)));
    EXPECT_EQ(made->refusal(), PushLink::Refusal::kLoop);
}

TEST_F(SrtRelayTest, AListenerThatIsAwayIsATimeout) {
    auto socket = runtime::bind_udp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(socket));
    const auto made = link("a", target_of((*socket)->port(), "streamid=publish:live/b"));
    const int64_t before_ms = runtime::now_ms();
    const auto ready = made->begin(Deadline::in_ms(600));
    ASSERT_FALSE(ready);
    EXPECT_EQ(ready.error().code(), Code::kTimeout);
    EXPECT_GE(runtime::now_ms() - before_ms, 550);
    size_t asked = 0;
    while (const auto came = (*socket)->receive_batch(Deadline::in_ms(10))) asked += came->size();
    EXPECT_EQ(asked, 3u) << "each 250 ms";
}

TEST_F(SrtRelayTest, AStreamIsPulled) {
    server().listen = {{"::1", 0}};
    server().passphrase = kPassphrase;
    begin();
    publish("a");
    pull("b", target_of(service_->port(), fmt::format("streamid=read:live/a&passphrase={}", kPassphrase), "[::1]"));
    for (int ms = 20; !stream("b")->published() && ms < 4'000; ms += 20) {
        publication_.publish(live::testing::audio(ms, "sound"));
        ASSERT_TRUE(ok(runtime::sleep_ms(5)));
    }
    ASSERT_TRUE(stream("b")->published());
    EXPECT_EQ(pull_->state(), relay::SourceRunner::State::kStreaming);
    EXPECT_EQ(table_.size(), 2u) << "the player, and the pull";
    EXPECT_EQ(stream("b")->publisher()->facts().ip, "::1");
    publication_.end();
    EXPECT_TRUE(until([&] { return !stream("b")->published(); })) << "the stream has ended at the other server";
    EXPECT_EQ(pull_->error->text(), "closed by the peer");
}

TEST_F(SrtRelayTest, AServerThatSendsNothingDoesNotPublish) {
    begin();
    pull("b", target_of(service_->port(), "streamid=read:live/a"));
    ASSERT_TRUE(until([&] { return pull_->state() == relay::SourceRunner::State::kWaitingForMedia; }));
    EXPECT_FALSE(stream("b")->published());
    ASSERT_TRUE(until([&] { return pull_->error.has_value(); }));
    EXPECT_EQ(pull_->error->code(), Code::kTimeout);
    EXPECT_FALSE(stream("b")->published());
}

}  // namespace
}  // namespace service::srt
