#include "service/rtc/play/bridges.h"

#include <gtest/gtest.h>

#include "runtime/loop/testing.h"
#include "service/rtc/config.h"

namespace service::rtc {
namespace {

struct Owner : live::PublicationOwner {
    bool rtp = false;
    bool publisher_alive() const override { return true; }
    bool publishes_rtp() const override { return rtp; }
    void publication_revoked(std::string_view, base::CloseReason) override {}
};

TEST(Bridges, OnlyStreamsOfFramesGetOne) {
    runtime::testing::start_loop_once();
    config::Snapshot config;
    config::Vhost& vhost = config.vhosts.emplace_back();
    vhost.name = std::string(config::kDefaultVhost);
    vhost.enabled = vhost.get<VhostConfig>().enabled = vhost.get<VhostConfig>().rtmp_to_rtc = true;
    live::Registry registry;
    Bridges bridges(registry, std::make_shared<config::Snapshot>(config));
    auto stream = registry.find_or_create({std::string(config::kDefaultVhost), "live", "s"}, {});
    Owner owner;
    {
        auto publication = stream->acquire(owner, false);
        ASSERT_TRUE(publication);
        EXPECT_NE(bridges.find(*stream), nullptr);
    }
    EXPECT_EQ(bridges.size(), 0u);
    owner.rtp = true;
    {
        auto publication = stream->acquire(owner, false);
        EXPECT_EQ(bridges.size(), 0u);
    }
    owner.rtp = false;
    vhost.get<VhostConfig>().rtmp_to_rtc = false;
    bridges.reload(std::make_shared<config::Snapshot>(config));
    auto publication = stream->acquire(owner, false);
    EXPECT_EQ(bridges.size(), 0u);
}

}  // namespace
}  // namespace service::rtc
