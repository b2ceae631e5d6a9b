// Streams that are published at an edge by the test, and origins run by the test.

#include "service/edge/push_manager.h"

#include <gtest/gtest.h>

#include "live/hub/options.h"
#include "live/hub/testing.h"
#include "runtime/loop/testing.h"
#include "service/relay/testing.h"

namespace service::edge {
namespace {

using live::testing::audio;
using live::testing::header;
using live::testing::video;
using media::Kind;
using relay::testing::FakeServer;
using runtime::testing::ok;

struct Owner : live::PublicationOwner {
    std::string ended;
    bool is_pull = false;
    bool publisher_alive() const override { return true; }
    bool is_relay() const override { return is_pull; }
    live::PublisherFacts facts() const override {
        return {.session_id = "c1", .params = "?k=v", .forward_path = "one"};
    }
    void publication_revoked(std::string_view why, base::CloseReason) override { ended = why; }
};

class PushManagerTest : public runtime::testing::RuntimeTest {
  protected:
    void TearDown() override {
        publication_.end();
        stream_.reset();
        pushes_.reset();
        pulls_.reset();
        EXPECT_EQ(sessions_.size(), 0u);
        until([this] { return registry_.size() == 0; });
        registry_.stop();
    }
    void start(std::vector<std::string> origins) {
        auto snapshot = std::make_shared<config::Snapshot>(*config::default_snapshot());
        snapshot->vhosts.front().play.mw_latency = 0;
        snapshot->vhosts.front().play.rejoin_timeout = 100;
        auto& cluster = snapshot->vhosts.front().get<VhostConfig>();
        cluster.mode = "remote";
        cluster.origin = std::move(origins);
        snapshot_ = snapshot;
        registry_.start();
        pulls_ =
            std::make_unique<PullManager>(snapshot, sessions_, registry_, gate_, health_, tls_, identity_, offers_);
        pushes_ = std::make_unique<PushManager>(snapshot, sessions_, registry_, *pulls_, health_, tls_);
        pushes_->start();
    }
    void publish() {
        const config::Vhost& vhost = snapshot_->vhosts.front();
        stream_ = registry_.find_or_create({vhost.name, "live", "s"}, live::live_options(vhost));
        auto publication = stream_->acquire(owner_, false);
        ASSERT_TRUE(ok(publication));
        publication_ = std::move(*publication);
        publication_.publish(header(Kind::kVideo, "V"));
        publication_.publish(header(Kind::kAudio, "A"));
        publication_.publish(video(0, true));
        publication_.publish(audio(10));
    }
    template <class Condition>
    bool until(Condition condition) {
        for (int i = 0; i < 2000 && !condition(); ++i) (void)runtime::sleep_ms(5).has_value();
        EXPECT_TRUE(condition());
        return condition();
    }

    config::SnapshotPtr snapshot_;
    net::SessionTable sessions_;
    live::Registry registry_;
    net::Gate gate_;
    OriginHealth health_;
    ClientTls tls_;
    Identity identity_;
    Offers offers_;
    Owner owner_;
    std::unique_ptr<PullManager> pulls_;
    std::unique_ptr<PushManager> pushes_;
    base::Ref<live::Stream> stream_;
    live::Publication publication_;
};

TEST_F(PushManagerTest, TheFirstOriginThatTakesItGetsTheStream) {
    FakeServer there;
    start({"127.0.0.1:1", there.address()});
    publish();
    ASSERT_TRUE(until([&] { return there.media.find("9@0:6;8@10:3;") != std::string::npos; }));
    EXPECT_EQ(there.log, "publish live/s?k=v;");
    EXPECT_EQ(there.path, "one," + registry_.instance());
    ASSERT_EQ(pushes_->list().size(), 1u);
    EXPECT_EQ(pushes_->list()[0].server(), there.address());
    EXPECT_EQ(pushes_->list()[0].problem(), "");
    EXPECT_EQ(health_.state(there.address()).pushes, 1u);
    EXPECT_FALSE(health_.is_up("127.0.0.1:1", runtime::now_ms()));
    publication_.end();
    until([&] { return pushes_->empty(); });
    EXPECT_EQ(there.log, "publish live/s?k=v;close;end;");
    EXPECT_EQ(health_.state(there.address()).pushes, 0u);
    EXPECT_EQ(owner_.ended, "");
}

TEST_F(PushManagerTest, AnotherOriginFollowsOneThatBreaks) {
    FakeServer a, b;
    start({a.address(), b.address()});
    publish();
    until([&] { return a.publishes == 1; });
    publication_.publish(video(1000, true));
    a.drop_all();
    until([&] { return b.media.find("9@1000:6;") != std::string::npos; });
    EXPECT_EQ(owner_.ended, "");
}

TEST_F(PushManagerTest, ARefusalEndsThePublisher) {
    FakeServer refusing, other;
    refusing.refuse = "NetStream.Publish.BadName";
    start({refusing.address(), other.address()});
    publish();
    until([&] { return !owner_.ended.empty(); });
    EXPECT_EQ(owner_.ended.find(refusing.address() + ": publish was refused"), 0u) << owner_.ended;
    EXPECT_EQ(other.accepted, 0) << "it is a decision";
    until([&] { return pushes_->empty(); });
}

TEST_F(PushManagerTest, ARefusalOfAStreamThatHadAnOriginIsNone) {
    FakeServer there;
    start({there.address()});
    publish();
    until([&] { return there.publishes == 1; });
    there.refuse = "NetStream.Publish.BadName";
    there.drop_all();
    until([&] { return there.publishes == 3; });
    EXPECT_EQ(owner_.ended, "");
    there.refuse.clear();
    until([&] { return health_.state(there.address()).pushes == 1; });
}

TEST_F(PushManagerTest, WithoutAnOriginThePublisherIsEnded) {
    start({"127.0.0.1:1", "http://127.0.0.1:2"});
    publish();
    until([&] { return !owner_.ended.empty(); });
    EXPECT_EQ(owner_.ended.find("no origin takes the stream; 127.0.0.1:1: "), 0u) << owner_.ended;
    until([&] { return pushes_->empty(); });
}

TEST_F(PushManagerTest, WhatComesFromAnOriginIsNotPassedUp) {
    FakeServer there;
    start({there.address()});
    owner_.is_pull = true;
    publish();
    (void)runtime::sleep_ms(50).has_value();
    EXPECT_TRUE(pushes_->empty());
    EXPECT_EQ(there.accepted, 0);
}

}  // namespace
}  // namespace service::edge
