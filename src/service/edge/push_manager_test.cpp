// Streams that are published at an edge by the test, and origins run by the test.

#include "service/edge/push_manager.h"

#include <gtest/gtest.h>

#include "service/edge/testing.h"

namespace service::edge {
namespace {

using live::testing::video;
using relay::testing::FakeServer;

class PushManagerTest : public testing::EdgeTest {
  protected:
    PushManagerTest() { owner_.about.forward_path = "one"; }
    void TearDown() override {
        publication_.end();
        pushes_.reset();
        pulls_.reset();
        expect_nothing_left();
    }
    void start(std::vector<std::string> origins) {
        registry_.start();
        make_pulls(std::move(origins));
        pushes_ = std::make_unique<PushManager>(snapshot_, sessions_, registry_, *pulls_, health_, tls_);
        pushes_->start();
    }
    void publish() { EdgeTest::publish(key()); }

    std::unique_ptr<PushManager> pushes_;
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
    owner_.fetches = true;
    publish();
    (void)runtime::sleep_ms(50).has_value();
    EXPECT_TRUE(pushes_->empty());
    EXPECT_EQ(there.accepted, 0);
}

}  // namespace
}  // namespace service::edge
