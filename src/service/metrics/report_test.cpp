#include "service/metrics/report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "live/hub/owner_testing.h"
#include "runtime/loop/testing.h"
#include "runtime/senders/senders.h"

namespace service::metrics {
namespace {

class Client final : public net::Session {
  public:
    Client(net::SessionTable& table, const std::string& id, net::SessionType type, const live::StreamKey& stream)
        : Session(table, id, "192.0.2.1"), stream_(stream) {
        set_type(type);
        enter_stream(stream, net::publishes(type));
    }
    void end(base::CloseReason reason) { log_end("the test ends it", reason); }
    std::string stream_text() const override { return stream_.text(); }
    net::Traffic traffic() const override { return {}; }
    void kick(std::string_view) override {}

  private:
    const live::StreamKey stream_;
};

class Metrics : public runtime::testing::RuntimeTest {
  protected:
    // The lines of samples; a family that occurs twice, or a sample that belongs to none, is a failure.
    std::map<std::string, std::string> samples(const prometheus::Families* earlier = nullptr) {
        std::map<std::string, std::string> found;
        auto text = report_.make(identity_, exporter_, earlier);
        EXPECT_TRUE(text) << text.error().text();
        std::set<std::string> families;
        std::string family;
        for (std::string_view rest = *text; !rest.empty();) {
            const std::string line(rest.substr(0, rest.find('\n')));
            rest.remove_prefix(std::min(line.size() + 1, rest.size()));
            if (line.starts_with("# HELP ")) {
                family = line.substr(7, line.find(' ', 7) - 7);
                EXPECT_TRUE(families.insert(family).second) << family << " is there twice";
            } else if (!line.starts_with('#')) {
                const size_t space = line.rfind(' ');
                EXPECT_TRUE(line.starts_with(family)) << line << " is in the family " << family;
                EXPECT_TRUE(found.emplace(line.substr(0, space), line.substr(space + 1)).second) << line;
            }
        }
        return found;
    }
    std::unique_ptr<Client> client(const std::string& id, net::SessionType type, const std::string& name = "s") {
        return std::make_unique<Client>(sessions_, id, type, live::StreamKey{"v", "live", name});
    }

    net::SessionTable sessions_;
    live::Registry registry_;
    net::Operations operations_;
    Offers offers_;
    Identity identity_;
    ServerConfig exporter_;
    Report report_{sessions_, registry_, operations_, offers_};
};

TEST_F(Metrics, AnIdleServerHasAllTotals) {
    auto found = samples();
    EXPECT_EQ(found["srs_streams"], "0");
    EXPECT_EQ(found["srs_clients"], "0");
    EXPECT_EQ(found["srs_reload_last_accepted"], "1") << "there was none";
    EXPECT_EQ(found["srs_draining"], "0");
    EXPECT_EQ(found.count("srs_vhost_clients{vhost=\"v\",type=\"rtmp-play\"}"), 0u);
}

TEST_F(Metrics, AnEarlierProcessIsAdded) {
    using enum prometheus::Type;
    const prometheus::Families earlier = {
        {"srs_send_bytes_total", {kCounter, {{"", 1'000}}}},
        {"srs_sessions_closed_total", {kCounter, {{"{reason=\"flood\"}", 7}}}},
        {"srs_clients", {kGauge, {{"", 3}}}},
        {"srs_vhost_clients", {kGauge, {{"{vhost=\"v\",type=\"rtmp-play\"}", 2}, {"{vhost=\"w\",type=\"x\"}", 1}}}},
        {"srs_memory", {kGauge, {{"", 1e12}}}},
        {"srs_stream_bitrate", {kGauge, {{"{vhost=\"v\",app=\"live\",stream=\"t\"}", 5}}}}};
    const auto one = client("a", net::SessionType::kRtmpPlay);
    auto found = samples(&earlier);
    EXPECT_EQ(found["srs_send_bytes_total"], "1000");
    EXPECT_EQ(found["srs_sessions_closed_total{reason=\"flood\"}"], "7");
    EXPECT_EQ(found["srs_clients"], "4");
    EXPECT_EQ(found["srs_vhost_clients{vhost=\"v\",type=\"rtmp-play\"}"], "3");
    EXPECT_EQ(found["srs_vhost_clients{vhost=\"w\",type=\"x\"}"], "1");
    EXPECT_NE(found["srs_memory"], "1000000000000") << "of this process";
    EXPECT_EQ(found["srs_stream_bitrate{vhost=\"v\",app=\"live\",stream=\"t\"}"], "5");
}

TEST_F(Metrics, ClientsAreCountedByVhostAndType) {
    const auto one = client("a", net::SessionType::kRtmpPlay), two = client("b", net::SessionType::kRtmpPlay, "t"),
               three = client("c", net::SessionType::kFlvPlay), four = client("d", net::SessionType::kRtcPublish);
    auto found = samples();
    EXPECT_EQ(found["srs_clients"], "4");
    EXPECT_EQ(found["srs_vhost_clients{vhost=\"v\",type=\"rtmp-play\"}"], "2");
    EXPECT_EQ(found["srs_vhost_clients{vhost=\"v\",type=\"flv-play\"}"], "1");
    EXPECT_EQ(found["srs_clients_total"], "4");
}

TEST_F(Metrics, EndsAreCountedByReason) {
    for (int i = 0; i < 3; ++i) client(std::to_string(i), net::SessionType::kRtmpPlay)->end(base::CloseReason::kFlood);
    client("x", net::SessionType::kRtmpPlay)->end(base::CloseReason::kPeerClosed);
    auto found = samples();
    const auto of = [](base::CloseReason reason) {
        return fmt::format("srs_sessions_closed_total{{reason=\"{}\"}}", base::close_reason_name(reason));
    };
    EXPECT_EQ(found[of(base::CloseReason::kFlood)], "3");
    EXPECT_EQ(found[of(base::CloseReason::kPeerClosed)], "1");
    EXPECT_EQ(found.count(of(base::CloseReason::kServerStop)), 0u) << "reasons that did not occur are left out";
}

TEST_F(Metrics, RefusedReloadsAndLoad) {
    operations_.reloads = 5;
    operations_.reloads_failed = 2;
    operations_.load = {.level = net::LoadLevel::kDying, .busy_percent = 97, .refused = 11};
    operations_.draining = true;
    auto found = samples();
    EXPECT_EQ(found["srs_reloads_total{result=\"accepted\"}"], "3");
    EXPECT_EQ(found["srs_reloads_total{result=\"refused\"}"], "2");
    EXPECT_EQ(found["srs_reload_last_accepted"], "0");
    EXPECT_EQ(found["srs_load_level"], "3");
    EXPECT_EQ(found["srs_loop_busy_ratio"], "0.97");
    EXPECT_EQ(found["srs_overload_refused_total"], "11");
    EXPECT_EQ(found["srs_draining"], "1");
}

TEST_F(Metrics, ServicesAddTheirs) {
    offers_.metrics.push_back(
        [](prometheus::Text& text) { text.single("srs_of_a_service", prometheus::Type::kGauge, "A test.", 7); });
    EXPECT_EQ(samples()["srs_of_a_service"], "7");
}

// A stream that has its series keeps them while others begin, and the next one gets them when it ends.
TEST_F(Metrics, TheLimitOfStreamsKeepsThoseThatAreShown) {
    exporter_.stream_limit = 2;
    live::testing::Owner owner;
    std::map<std::string, live::Publication> publications;
    const auto begin = [&](const std::string& name) {
        auto publication = registry_.find_or_create({"v", "live", name}, {})->acquire(owner, false);
        ASSERT_TRUE(publication) << publication.error().text();
        publications.emplace(name, std::move(*publication));
    };
    const auto shown = [&] {
        std::string names;
        for (const auto& [sample, value] : samples())
            if (sample.starts_with("srs_stream_viewers{")) names += sample.substr(sample.find("stream=\"") + 8, 1);
        return names;
    };
    begin("m");
    begin("n");
    EXPECT_EQ(shown(), "mn");
    begin("a");
    EXPECT_EQ(shown(), "mn");
    EXPECT_EQ(samples()["srs_streams_not_shown"], "1");
    EXPECT_EQ(samples()["srs_streams"], "3");
    publications.erase("m");
    EXPECT_EQ(shown(), "an");
    exporter_.stream_limit = 1;
    EXPECT_EQ(shown().size(), 1u) << "the limit was lowered";
}

TEST_F(Metrics, SenderThreadsWhereThereAre) {
    EXPECT_FALSE(samples().contains("srs_sender_retired_bytes"));
    runtime::install_senders(std::move(*runtime::Senders::start(2, runtime::Senders::Mode::kManual)));
    ASSERT_TRUE(runtime::senders()->reserve_datagram(1, 10));
    runtime::senders()->commit_datagram(1, 10, {});
    EXPECT_EQ(samples()["srs_sender_lent_total{kind=\"datagram\"}"], "1");
    EXPECT_EQ(samples()["srs_sender_calls_total{thread=\"1\"}"], "0");
    EXPECT_EQ(runtime::senders()->run(1), 1u);
    EXPECT_EQ(samples()["srs_sender_calls_total{thread=\"1\"}"], "1");
    EXPECT_EQ(samples()["srs_sender_datagrams_lost_total{thread=\"1\"}"], "1") << "it has no socket";
    EXPECT_EQ(samples()["srs_sender_calls_total{thread=\"0\"}"], "0");
    runtime::stop_senders();
}

}  // namespace
}  // namespace service::metrics
