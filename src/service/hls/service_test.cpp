// The service when another process of the server serves, and when this one does again.

#include "service/hls/service.h"

#include <filesystem>

#include "live/hub/options.h"
#include "live/hub/owner_testing.h"
#include "runtime/loop/testing.h"
#include "service/hls/config.h"

namespace service::hls {
namespace {

namespace fs = std::filesystem;
using runtime::testing::ok;

class ServiceTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        std::string pattern = (fs::temp_directory_path() / "hls-service-XXXXXX").string();
        directory_ = mkdtemp(pattern.data());
        snapshot_->get<ServerConfig>().hls_roll = directory_ / "roll";
        hls().enabled = true;
        hls().path = directory_ / "html";
    }
    void TearDown() override {
        publications_.clear();
        service_.reset();
        registry_.stop();
        fs::remove_all(directory_);
    }
    VhostConfig& hls() const { return snapshot_->vhosts.front().get<VhostConfig>(); }
    void start() {
        service_ = std::make_unique<Service>(snapshot_, sessions_, registry_, events_, router_, gate_, files_, offers_);
        ASSERT_TRUE(ok(service_->start()));
    }
    void publish(const std::string& name) {
        const config::Vhost& vhost = snapshot_->vhosts.front();
        auto stream = registry_.find_or_create({vhost.name, "live", name}, live::live_options(vhost));
        auto publication = stream->acquire(owner_, false);
        ASSERT_TRUE(ok(publication));
        publications_.push_back(*std::move(publication));
    }

    fs::path directory_;
    std::shared_ptr<config::Snapshot> snapshot_ = std::make_shared<config::Snapshot>(*config::default_snapshot());
    net::SessionTable sessions_;
    live::Registry registry_;
    live::Events events_;
    net::HttpRouter router_;
    net::Gate gate_;
    net::FileAccess files_{gate_};
    Offers offers_;
    live::testing::Owner owner_;
    std::vector<live::Publication> publications_;
    std::unique_ptr<Service> service_;
};

TEST_F(ServiceTest, AReloadDoesNotBeginWhatWasGivenOver) {
    start();
    publish("a");
    EXPECT_EQ(service_->outputs(), 1u);
    service_->give_over(true);
    EXPECT_EQ(service_->outputs(), 0u);
    service_->reload(snapshot_);
    EXPECT_EQ(service_->outputs(), 0u) << "two processes would write the same files";
    publish("b");
    EXPECT_EQ(service_->outputs(), 0u);
    service_->give_over(false);
    EXPECT_EQ(service_->outputs(), 2u) << "all that is published is followed again";
}

// By the configuration that came while it was given over.
TEST_F(ServiceTest, BeginsWithTheConfigurationInForce) {
    start();
    publish("a");
    service_->give_over(true);
    auto next = std::make_shared<config::Snapshot>(*snapshot_);
    next->vhosts.front().get<VhostConfig>().enabled = false;
    service_->reload(next);
    service_->give_over(false);
    EXPECT_EQ(service_->outputs(), 0u);
}

}  // namespace
}  // namespace service::hls
