#include "live/hub/followed_streams.h"

#include <gtest/gtest.h>

#include <string>

#include "live/hub/owner_testing.h"
#include "runtime/loop/testing.h"

namespace live {
namespace {

// Follows streams without "no" in their name. Its calls are in `calls`: "+" follow, "=" keep, "-" leave.
struct Follower final : StreamFollower {
    bool is_wanted = true;
    bool can = true;
    std::string calls;
    bool wants(const Stream& stream, const config::Vhost&) const override {
        return is_wanted && stream.key().name.find("no") == std::string::npos;
    }
    bool follow(Stream& stream, const config::Vhost&) override {
        calls += (can ? "+" : "!") + stream.key().name;
        return can;
    }
    void keep(Stream& stream, const config::Vhost&) override { calls += "=" + stream.key().name; }
    void leave(Stream& stream) override { calls += "-" + stream.key().name; }
};

class FollowedStreamsTest : public runtime::testing::RuntimeTest {
  protected:
    static config::SnapshotPtr snapshot(bool vhost_enabled = true) {
        auto out = std::make_shared<config::Snapshot>();
        config::Vhost& vhost = out->vhosts.emplace_back();
        vhost.name = "v";
        vhost.enabled = vhost_enabled;
        return out;
    }
    base::Ref<Stream> stream(const std::string& name) { return registry.find_or_create({"v", "live", name}, {}); }
    std::string calls() { return std::exchange(follower.calls, ""); }

    Registry registry;
    Follower follower;
    FollowedStreams followed{registry, follower};
    testing::Owner owner;
};

TEST_F(FollowedStreamsTest, FromPublishToUnpublish) {
    auto before = stream("before"), later = stream("later"), none = stream("none"), idle = stream("idle");
    auto first = before->acquire(owner, false);
    followed.start(snapshot());
    EXPECT_EQ(calls(), "+before");
    auto second = later->acquire(owner, false), third = none->acquire(owner, false);
    EXPECT_EQ(calls(), "+later");
    EXPECT_TRUE(followed.contains(*later) && !followed.contains(*none) && !followed.contains(*idle));
    second->end();
    third->end();
    EXPECT_EQ(calls(), "-later");
    followed.stop();
    first->end();
    EXPECT_EQ(calls(), "");
}

TEST_F(FollowedStreamsTest, ReloadsBeginKeepAndEnd) {
    auto one = stream("a");
    auto publication = one->acquire(owner, false);
    follower.is_wanted = false;
    followed.start(snapshot());
    EXPECT_EQ(calls(), "");
    follower.is_wanted = true;
    followed.reload(snapshot());
    EXPECT_EQ(calls(), "+a");
    followed.reload(snapshot());
    EXPECT_EQ(calls(), "=a");
    followed.reload(snapshot(false));
    EXPECT_EQ(calls(), "-a") << "its vhost is not enabled";
    followed.reload(std::make_shared<config::Snapshot>());
    EXPECT_EQ(calls(), "") << "its vhost is gone, and no stream was followed";
}

TEST_F(FollowedStreamsTest, AReloadRetriesAFailedFollow) {
    auto one = stream("a");
    follower.can = false;
    followed.start(snapshot());
    auto publication = one->acquire(owner, false);
    EXPECT_EQ(calls(), "!a");
    follower.can = true;
    followed.reload(snapshot());
    EXPECT_EQ(calls(), "+a");
}

TEST_F(FollowedStreamsTest, ATakeoverIsAnEndAndABeginning) {
    auto one = stream("a");
    followed.start(snapshot());
    auto publication = one->acquire(owner, false);
    testing::Owner other;
    auto taken = one->acquire(other, true);
    EXPECT_EQ(calls(), "+a-a+a");
}

}  // namespace
}  // namespace live
