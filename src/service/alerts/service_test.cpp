// What is found wrong, in simulated time.

#include "service/alerts/service.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"
#include "service/other_process_testing.h"

namespace service::alerts {
namespace {

struct Publisher final : live::PublicationOwner {
    bool publisher_alive() const override { return true; }
    bool is_relay() const override { return relay; }
    void publication_revoked(std::string_view, base::CloseReason) override {}
    bool relay = false;
};

class AlertsServiceTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        snapshot_ = std::make_shared<config::Snapshot>(*config::default_snapshot());
        offers_.report_alert = [this](const Alert& alert) {
            told_ += fmt::format("{}{}:{} ", alert.cleared_ms ? "-" : "+", alert_name(alert.kind), alert.stream.name);
        };
        service_ = std::make_unique<Service>(snapshot_, registry_, sessions_, operations_, offers_);
        EXPECT_TRUE(service_->start());
    }
    void TearDown() override { service_.reset(); }
    ServerConfig& limits() { return snapshot_->get<ServerConfig>(); }
    std::optional<live::Publication> publish(const std::string& name) {
        auto publication = registry_.find_or_create({"v", "live", name}, {})->acquire(publisher_, false);
        EXPECT_TRUE(publication);
        return std::move(*publication);
    }
    // Publishes for a minute.
    void come_and_go(runtime::testing::SimulatedTime& time, const std::string& name) {
        auto publication = publish(name);
        time.pass_ms(60'000);
    }
    std::string take_told() { return std::exchange(told_, {}); }

    std::shared_ptr<config::Snapshot> snapshot_;
    live::Registry registry_;
    net::SessionTable sessions_;
    net::Operations operations_;
    Offers offers_;
    Publisher publisher_;
    std::string told_;
    std::unique_ptr<Service> service_;
};

TEST_F(AlertsServiceTest, APublisherThatDoesNotReturn) {
    runtime::testing::SimulatedTime time;
    auto gone = publish("a"), back = publish("b");
    time.pass_ms(60'000);
    gone.reset();
    back.reset();
    time.pass_ms(30'000);
    back = publish("b");
    time.pass_ms(25'000);
    EXPECT_EQ(take_told(), "");
    time.pass_ms(10'000);
    EXPECT_EQ(take_told(), "+publisher-gone:a ") << "the other one is there again";
    auto again = publish("a");
    time.pass_ms(60'000);
    EXPECT_EQ(take_told(), "-publisher-gone:a ");
    again.reset();
    time.pass_ms(70'000);
    EXPECT_EQ(take_told(), "+publisher-gone:a ");
    time.pass_ms(Service::kForgetMs);
    EXPECT_EQ(take_told(), "-publisher-gone:a ") << "it ended as it should";
}

TEST_F(AlertsServiceTest, TheTimeMayBeLongerThanThatOfForgetting) {
    runtime::testing::SimulatedTime time;
    limits().publisher_gone = 3'600;
    auto publication = publish("a");
    time.pass_ms(3'600'000);
    publication.reset();
    time.pass_ms(3'590'000);
    EXPECT_EQ(take_told(), "");
    time.pass_ms(20'000);
    EXPECT_EQ(take_told(), "+publisher-gone:a ");
}

TEST_F(AlertsServiceTest, AStreamOfAMomentIsNotGone) {
    runtime::testing::SimulatedTime time;
    publish("a").reset();
    time.pass_ms(200'000);
    EXPECT_EQ(take_told(), "");
}

TEST_F(AlertsServiceTest, AStreamThatIsPulledForPlayers) {
    runtime::testing::SimulatedTime time;
    publisher_.relay = true;
    come_and_go(time, "a");
    time.pass_ms(200'000);
    EXPECT_EQ(take_told(), "");
}

TEST_F(AlertsServiceTest, AReloadThatWasRefused) {
    runtime::testing::SimulatedTime time;
    operations_.reloads = 1;
    operations_.last_reload.ok = false;
    time.pass_ms(10'000);
    EXPECT_EQ(take_told(), "+reload-refused: ");
    operations_.last_reload.ok = true;
    time.pass_ms(10'000);
    EXPECT_EQ(take_told(), "-reload-refused: ");
}

TEST_F(AlertsServiceTest, AreThoseOfTheProcessThatPublishes) {
    ::service::testing::FakeOtherProcess other;
    other.published = {{"v", "live", "b"}};
    runtime::testing::SimulatedTime time;
    operations_.reloads = 1;
    operations_.last_reload.ok = false;
    time.pass_ms(10'000);
    EXPECT_EQ(take_told(), "+reload-refused: ");
    offers_.other_process = &other;
    service_->give_over(true);
    auto a = publish("a"), b = publish("b");
    time.pass_ms(60'000);
    a.reset();
    b.reset();
    time.pass_ms(70'000);
    EXPECT_EQ(take_told(), "+publisher-gone:a ") << "the other one has returned to the other process";
    service_->give_over(false);
    time.pass_ms(10'000);
    EXPECT_EQ(take_told(), "+reload-refused: ") << "the other process has ended";
    other.published.clear();
    service_->other_process_changed({"v", "live", "b"});
    time.pass_ms(70'000);
    EXPECT_EQ(take_told(), "+publisher-gone:b ") << "that of the other process, which may end at once";
    service_->give_over(true);
    service_->other_process_changed({"v", "live", "c"});
    time.pass_ms(70'000);
    EXPECT_EQ(take_told(), "+publisher-gone:c ") << "the process that new clients came to has died";
}

TEST_F(AlertsServiceTest, AreTurnedOff) {
    runtime::testing::SimulatedTime time;
    limits().publisher_gone = 0;
    come_and_go(time, "a");
    time.pass_ms(100'000);
    EXPECT_EQ(take_told(), "");
    operations_.reloads = 1;
    operations_.last_reload.ok = false;
    time.pass_ms(10'000);
    EXPECT_EQ(take_told(), "+reload-refused: ");
    limits().enabled = false;
    time.pass_ms(10'000);
    EXPECT_EQ(take_told(), "-reload-refused: ");
    EXPECT_TRUE(service_->book().lasting().empty());
}

}  // namespace
}  // namespace service::alerts
