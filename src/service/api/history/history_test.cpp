#include "service/api/history/history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "live/hub/testing.h"
#include "runtime/loop/simulated_time_testing.h"
#include "service/api/service_testing.h"

namespace service::api {
namespace {

struct HistoryOwner final : live::PublicationOwner {
    bool publisher_alive() const override { return true; }
    void publication_revoked(std::string_view, base::CloseReason) override {}
};

struct HistoryViewer final : net::Session {
    HistoryViewer(net::SessionTable& table, const std::string& id, const live::StreamKey& stream, net::SessionType type)
        : Session(table, id, "192.0.2.9") {
        set_type(type);
        enter_stream(stream, false);
    }
    ~HistoryViewer() override { log_end("closed", base::CloseReason::kPeerClosed); }
    std::string stream_text() const override { return "v/live/s"; }
    net::Traffic traffic() const override { return {0, sent}; }
    void kick(std::string_view) override {}
    uint64_t sent = 0;
};

class HistoryTest : public testing::ApiTest {
  protected:
    void SetUp() override {
        ApiTest::SetUp();
        service_->stop();  // its own sampling
        context_ = std::make_unique<Context>(Context{parts_, snapshot_});
        system_ = std::make_unique<System>(*context_);
        history_ = std::make_unique<History>(*context_, *system_);
    }
    void limit_mb(int mb) { snapshot_->http_api.history_memory = mb; }
    static live::StreamKey key(const std::string& name) { return {"__defaultVhost__", "live", name}; }
    void publish(const std::string& name) {
        auto made = registry_.find_or_create(key(name), {})->acquire(owner_, false);
        ASSERT_TRUE(made);
        publications_[name] = std::move(*made);
    }
    // A second of video, 25 frames of so many bytes.
    void send(live::Publication& publication, size_t bytes, int64_t second) {
        const std::string payload(bytes, 'x');
        for (int i = 0; i < 25; ++i) publication.publish(live::testing::video(second * 1000 + i * 40, i == 0, payload));
    }
    FigurePoints points(const FigureRecord& record, size_t count, uint32_t step_s = 1) {
        const auto now_s = static_cast<uint32_t>(runtime::now_ms() / 1000);
        return record.points(now_s - static_cast<uint32_t>(count) * step_s, count, step_s);
    }
    static size_t column(std::string_view name, std::span<const FigureSpec> specs = stream_figures()) {
        for (size_t i = 0; i < specs.size(); ++i)
            if (specs[i].name == name) return i;
        ADD_FAILURE() << "there is no figure " << name;
        return 0;
    }

    HistoryOwner owner_;
    std::map<std::string, live::Publication> publications_;
    std::unique_ptr<Context> context_;
    std::unique_ptr<System> system_;
    std::unique_ptr<History> history_;
};

TEST_F(HistoryTest, AStreamHasItsFiguresAlsoWhenItEnded) {
    runtime::testing::SimulatedTime time;
    history_->start();
    publish("a");
    std::vector<std::unique_ptr<HistoryViewer>> viewers;
    for (int i = 0; i < 3; ++i)
        viewers.push_back(
            std::make_unique<HistoryViewer>(sessions_, fmt::format("v{}", i), key("a"),
                                            i < 2 ? net::SessionType::kRtmpPlay : net::SessionType::kRtcPlay));
    for (int second = 0; second < 30; ++second) {
        if (second < 20) send(publications_["a"], 1'000, second);
        for (auto& viewer : viewers) viewer->sent += 125'000;
        time.pass_ms(1'000);
    }
    const History::StreamRecord* a = history_->find(net::stream_id(key("a")));
    ASSERT_TRUE(a);
    const FigurePoints last = points(a->record, 30);
    const auto at = [&](std::string_view name, size_t i) {
        const auto& values = last.values[column(name)];
        return values.empty() ? 0.0 : values[i];
    };
    EXPECT_NEAR(at("fps", 12), 25, 0.3);
    EXPECT_NEAR(at("recv_kbps", 12), 200, 2);
    EXPECT_NEAR(at("send_kbps", 12), 3'000, 30);
    EXPECT_EQ(at("players_rtmp", 12), 2);
    EXPECT_EQ(at("players_webrtc", 12), 1);
    EXPECT_EQ(at("silent_s", 12), 0);
    EXPECT_EQ(at("silent_s", 26), 1) << "no frame came";
    EXPECT_EQ(at("fps", 26), 0);
    EXPECT_NEAR(points(history_->server(), 10).values[column("send_kbps", server_figures())][5], 3'000, 30);
    publications_.clear();
    time.pass_ms(600'000);
    a = history_->find(net::stream_id(key("a")));
    ASSERT_TRUE(a) << "it is remembered";
    EXPECT_FALSE(a->is_live);
    const FigurePoints ended = points(a->record, 640);
    EXPECT_FALSE(ended.present.back());
    EXPECT_EQ(std::ranges::count(ended.present, true), 29);
    history_->stop();
    for (int minute = 0; minute < 25 * 60; ++minute) {
        time.pass_ms(60'000);
        ASSERT_TRUE(runtime::testing::ok(history_->sample()));
    }
    EXPECT_FALSE(history_->find(net::stream_id(key("a")))) << "after a day it is forgotten";
}

TEST_F(HistoryTest, StreamsThatEndedMakeRoom) {
    limit_mb(1);
    runtime::testing::SimulatedTime time;
    for (int i = 0; i < 2'000; ++i) {
        const std::string name = fmt::format("s{}", i);
        publish(name);
        time.pass_ms(1'000);
        ASSERT_TRUE(runtime::testing::ok(history_->sample()));
        publications_.erase(name);
        ASSERT_LE(history_->bytes(), (1u << 20) + 100'000) << i;
    }
    EXPECT_GT(history_->forgotten(), 100u);
    EXPECT_TRUE(history_->find(net::stream_id(key("s1999"))));
    EXPECT_FALSE(history_->find(net::stream_id(key("s0")))) << "the first one that ended";
    EXPECT_EQ(history_->left_out(), 0u);
}

TEST_F(HistoryTest, MoreLiveStreamsThanTheMemoryHasRoomFor) {
    limit_mb(1);
    runtime::testing::SimulatedTime time;
    for (int i = 0; i < 1'500; ++i) publish(fmt::format("s{}", i));
    for (int second = 0; second < 300; ++second) {
        time.pass_ms(1'000);
        ASSERT_TRUE(runtime::testing::ok(history_->sample()));
        ASSERT_LE(history_->bytes(), (1u << 20) + 100'000) << second;
    }
    EXPECT_GT(history_->left_out(), 0u) << "and they are counted";
    EXPECT_GT(history_->streams().size(), 100u);
    limit_mb(0);
    EXPECT_FALSE(history_->is_enabled());
}

// The printed figures are those of decision 209.
TEST_F(HistoryTest, AThousandStreamsForAnHour) {
    runtime::testing::SimulatedTime time;
    std::vector<live::Publication*> all;
    std::vector<std::unique_ptr<HistoryViewer>> viewers;
    for (int i = 0; i < 1'000; ++i) {
        publish(fmt::format("s{}", i));
        for (int v = 0; v < 2; ++v)
            viewers.push_back(std::make_unique<HistoryViewer>(sessions_, fmt::format("v{}-{}", i, v),
                                                              key(fmt::format("s{}", i)), net::SessionType::kRtmpPlay));
    }
    for (auto& [name, publication] : publications_) all.push_back(&publication);
    uint32_t random = 1;
    int64_t cpu_us = 0;
    constexpr int kSeconds = 3'600;
    for (int second = 0; second < kSeconds; ++second) {
        for (live::Publication* publication : all) {
            random = random * 1'664'525 + 1'013'904'223;
            // A publisher at a constant bitrate is within a tenth of it from second to second.
            live::StreamCounters& counters = publication->stream()->counters();
            counters.payload_bytes += 250'000 + (random >> 8) % 50'000;
            counters.video_frames += 24 + (random >> 28) % 3;
        }
        for (auto& viewer : viewers) {
            random = random * 1'664'525 + 1'013'904'223;
            viewer->sent += 250'000 + (random >> 8) % 50'000;
        }
        time.pass_ms(1'000);
        const int64_t began_us = runtime::thread_cpu_us();
        ASSERT_TRUE(runtime::testing::ok(history_->sample()));
        cpu_us += runtime::thread_cpu_us() - began_us;
    }
    const double share = static_cast<double>(cpu_us) / 1e4 / kSeconds;
    const size_t each = history_->bytes() / 1'000;
    std::printf("1,000 streams for an hour: %zu bytes each, %.2f %% of a core\n", each, share);
    EXPECT_EQ(history_->streams().size(), 1'000u);
    EXPECT_LE(history_->bytes(), history_->limit());
    EXPECT_LT(each, 16'000u);
    EXPECT_LT(share, 5) << "a tenth of that without sanitizers";
    EXPECT_NEAR(*history_->streams()[0]->record.first_s(1), runtime::now_ms() / 1000 - kSeconds, 130);
}

class HistoryApiTest : public testing::ApiTest {
  protected:
    void wait_for_samples(int64_t points) {
        const runtime::Deadline deadline = runtime::Deadline::in_ms(20'000);
        while (json("/api/v1/history").value("points", int64_t{0}) < points && !deadline.passed())
            (void)runtime::sleep_ms(50);
    }
};

TEST_F(HistoryApiTest, IsAnsweredInPages) {
    HistoryOwner owner;
    const live::StreamKey key{"__defaultVhost__", "live", "a"};
    auto publication = registry_.find_or_create(key, {})->acquire(owner, false);
    wait_for_samples(3);
    const Json server = json("/api/v1/history?step=1");
    EXPECT_EQ(server["stream"], nullptr) << server;
    EXPECT_EQ(server["step_ms"], 1'000);
    const auto count = server["points"].get<size_t>();
    EXPECT_GE(count, 3u);
    EXPECT_EQ(server["present"].size(), count);
    EXPECT_EQ(server["figures"]["memory_bytes"].size(), count);
    EXPECT_EQ(server["figures"].count("players_srt"), 0u) << "0 throughout";
    EXPECT_EQ(server["next_ms"], nullptr);
    EXPECT_NEAR(server["from_ms"].get<double>() + static_cast<double>(count) * 1'000,
                static_cast<double>(base::wall_ms()), 5'000);
    const std::string id = net::stream_id(key);
    const Json stream = json("/api/v1/history?stream=" + id);
    EXPECT_EQ(stream["stream"],
              Json({{"id", id}, {"vhost", key.vhost}, {"app", "live"}, {"name", "a"}, {"published", true}}));
    EXPECT_EQ(json("/api/v1/history/streams?search=live/a")["streams"][0]["id"], id);
    EXPECT_EQ(json("/api/v1/history/streams?search=other")["total"], 0);
    for (const char* wrong : {"step=0", "step=x", "step=86401", "from=soon", "to=", "step=-1"})
        EXPECT_EQ(json(fmt::format("/api/v1/history?{}", wrong))["code"], 400) << wrong;
    EXPECT_EQ(json("/api/v1/history?stream=vid-none")["code"], 2048);
    EXPECT_EQ(json("/api/v1/history?from=-1h&to=-2h")["points"], 0) << "an empty time has no points";
    EXPECT_EQ(json("/api/v1/history?from=1&to=2")["points"], 0);
    snapshot_->http_api.history_memory = 0;
    (void)runtime::sleep_ms(1'500);
    EXPECT_EQ(json("/api/v1/history")["points"], 0) << "it is off";
    EXPECT_EQ(json("/api/v1/history?stream=" + id)["code"], 2048);
}

}  // namespace
}  // namespace service::api
