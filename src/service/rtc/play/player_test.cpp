// Players: tracks and publishers that change, reports, and the end.
#include <algorithm>
#include <map>

#include "protocol/rtcp/parser.h"
#include "service/rtc/play/player_testing.h"

namespace service::rtc {
namespace {

using testing::kAudio;
using testing::kAudioSsrc;
using testing::kVideo;
using testing::kVideoSsrc;
using testing::PlayerTest;

TEST_F(PlayerTest, SaysWhatItsViewerReports) {
    put(0, 100, "k", true);
    auto viewer = view();
    EXPECT_FALSE(viewer->player->quality().rtt_ms);
    viewer->report(120, 64, 9'000);
    net::RtcQuality quality = viewer->player->quality();
    EXPECT_EQ(quality.lost_percent, 25);
    ASSERT_TRUE(quality.rtt_ms);
    EXPECT_GE(*quality.rtt_ms, 115);
    EXPECT_EQ(quality.jitter_ms, 100);
    viewer->pli();
    // The reported jitter is limited to a minute.
    viewer->report(1, 0, UINT32_MAX);
    quality = viewer->player->quality();
    EXPECT_EQ(quality.keyframes_asked, 1u);
    EXPECT_LE(quality.jitter_ms, 60'000);
    EXPECT_EQ(quality.lost_percent, 0);
    // A history begins with losses.
    viewer->player->on_tick(base::monotonic_ms());
    EXPECT_TRUE(viewer->player->quality().viewing->history.empty());
    viewer->report(120, 64, 9'000);
    viewer->player->on_tick(base::monotonic_ms());
    const net::RtcViewing viewing = *viewer->player->quality().viewing;
    EXPECT_EQ(viewing.sent, net::RtcSent::kAll);
    EXPECT_EQ(viewing.estimate_kbps, 0u);
    ASSERT_EQ(viewing.history.size(), 1u);
    EXPECT_EQ(viewing.history[0].lost_percent, 25);
}

TEST_F(PlayerTest, AHoleStaysAHoleAndALatePacketComesLate) {
    put(0, 100, "idr", true);
    auto viewer = view();
    settle();
    put_as(0, 7, 200, "c");
    settle();
    put_as(0, 6, 200, "b");
    settle();
    EXPECT_EQ(viewer->got(), "v1002:idr v1004:c v1003:b ");
}

TEST_F(PlayerTest, APublishersEndSendsNothingOnceMore) {
    put(0, 100, "idr", true);
    put(0, 200, "p");
    struct Owner : live::PublicationOwner {
        bool publisher_alive() const override { return true; }
        void publication_revoked(std::string_view, base::CloseReason) override {}
    } owner;
    auto publication = stream->acquire(owner, false);
    ASSERT_TRUE(publication);
    auto viewer = view();
    settle();
    EXPECT_EQ(viewer->got(), "v1002:idr v1003:p ");
    publication->end();
    auto another = view();  // wakes the pump
    settle();
    EXPECT_EQ(viewer->got(), "");
}

TEST_F(PlayerTest, ATrackOfAnotherCodecIsNotSent) {
    lane.set_tracks({live::RtpTrack{.kind = media::Kind::kVideo, .codec = media::Codec::kVp8}, kAudio});
    put(0, 100, "vp8", true);
    auto viewer = view();
    put(1, 10, "sound");
    settle();
    EXPECT_EQ(viewer->got(), "a1001:sound ");
}

TEST_F(PlayerTest, AnotherPublisherGoesOnWithoutAHole) {
    put(0, 100, "idr", true);
    auto viewer = view();
    settle();
    put(1, 10, "sound");
    settle();
    EXPECT_EQ(viewer->got(), "v1002:idr a1001:sound ");
    lane.set_tracks({kAudio, kVideo});
    put_as(0, 40'000, 7, "sound");
    put_as(1, 50'000, 8, "p");
    put_as(1, 50'001, 9, "idr", true);
    settle();
    EXPECT_EQ(viewer->got(), "a1002:sound v1003:idr ");
}

TEST_F(PlayerTest, AnotherSourceOfTheVideoGoesOnAtItsKeyframeWithoutAHole) {
    put(0, 100, "idr", true);
    auto viewer = view();
    settle();
    put(1, 10, "sound");
    put(0, 3100, "p");
    settle();
    EXPECT_EQ(viewer->got(), "v1002:idr a1001:sound v1003:p ");
    lane.restart_track(0);
    put_as(0, 40'000, 7'000'000, "P");
    put(1, 970, "sound");
    put_as(0, 40'001, 7'003'000, "IDR", true);
    put_as(0, 40'002, 7'006'000, "P");
    settle();
    EXPECT_EQ(viewer->got(), "a1002:sound v1004:IDR v1005:P ");
    // Packets from before and after the change can be requested again.
    viewer->nack(kVideoSsrc, {1003, 1005});
    EXPECT_EQ(viewer->got(), "v1003:p v1005:P ");
    // Audio from another source: it need not wait for a keyframe.
    lane.restart_track(1);
    put_as(1, 60'000, 5, "other");
    settle();
    EXPECT_EQ(viewer->got(), "a1003:other ");
}

TEST_F(PlayerTest, ReportsPutBothTracksOnOneClock) {
    put(0, 90'000, "idr", true);
    put(1, 480'000, "oldsound");
    auto viewer = view();
    settle();
    put(1, 480'960, "sound");
    settle();
    lane.set_clock(0, 50'000'000, 90'000);
    lane.set_clock(1, 50'250'000, 480'000);
    viewer->player->on_tick(base::monotonic_ms());
    EXPECT_TRUE(viewer->session.rtcp.empty());
    put(1, 481'920, "music");
    settle();
    ASSERT_EQ(viewer->session.rtcp.size(), 2u) << "with the packet";
    struct Reports : rtcp::Visitor {
        std::map<uint32_t, rtcp::SenderReport> by_ssrc;
        void on_sender_report(const rtcp::SenderReport& report) override { by_ssrc[report.ssrc] = report; }
    } reports;
    for (const auto& compound : viewer->session.rtcp) ASSERT_TRUE(rtcp::parse(compound, reports).framed);
    ASSERT_EQ(reports.by_ssrc.size(), 2u);
    const auto& video = reports.by_ssrc[kVideoSsrc];
    const auto& audio = reports.by_ssrc[kAudioSsrc];
    EXPECT_EQ(video.packets, 1u);
    EXPECT_EQ(audio.octets, 10u);
    // The presentation times of video timestamp 90,000 and audio timestamp 480,000 are a quarter of a second apart.
    auto shown = [](const rtcp::SenderReport& report, uint32_t timestamp, double rate) {
        return static_cast<double>(rtp::unix_us_of_ntp(report.ntp)) / 1e6 +
               static_cast<int32_t>(timestamp - report.rtp_timestamp) / rate;
    };
    EXPECT_NEAR(shown(audio, 480'000, 48'000) - shown(video, 90'000, 90'000), 0.25, 0.001);
    // No new information: the next report comes later.
    for (int i = 0; i < 2; ++i) viewer->player->on_tick(base::monotonic_ms());
    EXPECT_EQ(viewer->session.rtcp.size(), 2u);
}

TEST_F(PlayerTest, ReportsComeSoonerAgainForOtherTracks) {
    put(0, 90'000, "idr", true);
    auto viewer = view();
    settle();
    const int64_t now_ms = base::monotonic_ms();
    const auto tick_until = [&](int64_t from, int64_t to) {
        for (int64_t ms = from; ms < to; ms += 100) viewer->player->on_tick(now_ms + ms);
    };
    tick_until(0, 3000);
    EXPECT_EQ(viewer->player->tick_ms(), 500);
    lane.set_tracks({lane.tracks().begin(), lane.tracks().end()});
    settle();
    EXPECT_EQ(viewer->player->tick_ms(), 100);
    put(0, 180'000, "idr", true);
    settle();
    viewer->session.rtcp.clear();
    tick_until(3000, 4000);
    EXPECT_GE(viewer->session.rtcp.size(), 5u);
}

// Without packets, with which they would go out, each is a tick late.
TEST_F(PlayerTest, TheFirstReportsComeSooner) {
    put(0, 90'000, "idr", true);
    auto viewer = view();
    settle();
    const int64_t now_ms = base::monotonic_ms();
    std::vector<int64_t> sent;
    for (int64_t ms = 0; ms < 4000; ms += 100) {
        viewer->session.rtcp.clear();
        viewer->player->on_tick(now_ms + ms);
        if (!viewer->session.rtcp.empty()) sent.push_back(ms);
    }
    EXPECT_EQ(sent, (std::vector<int64_t>{100, 300, 500, 700, 900, 1100, 3600}));
}

TEST_F(PlayerTest, TheStreamsEndEndsTheSession) {
    auto viewer = view();
    stream->end_viewers();
    EXPECT_EQ(viewer->session.reason, base::CloseReason::kStreamEnded);
}

TEST_F(PlayerTest, AnyRtcpIsSurvived) {
    auto viewer = view();
    for (size_t size : {size_t{0}, size_t{3}, size_t{4}, size_t{7}, size_t{1500}}) {
        std::vector<uint8_t> bytes(size, 0x81);
        viewer->player->on_rtcp(bytes, now_us);
    }
    EXPECT_GT(viewer->player->counters().bad_rtcp, 0u);
}

}  // namespace
}  // namespace service::rtc
