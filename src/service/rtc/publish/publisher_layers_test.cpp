// Publishers of simulcast: which packets are whose, and what the stream's lane gets of them.
#include "service/rtc/publish/publisher_layers_testing.h"

namespace service::rtc {
namespace {

using testing::FakeSession;
using testing::kAudioSsrc;
using testing::kRepairedRidId;
using testing::kRtxType;
using testing::kVideoType;
using testing::PublisherLayersTest;
using testing::Requests;
using testing::SentLayer;

TEST_F(PublisherLayersTest, TheLaneHasTwoTracksAndTheLargestLayer) {
    connect();
    ASSERT_EQ(lane.tracks().size(), 2u);
    run(1000);
    EXPECT_EQ(lane.video_info().width, 1280);
    EXPECT_GE(check_lane(), 25u);
    EXPECT_EQ(publisher->counters().foreign, 0u);
    EXPECT_EQ(publisher->counters().layer_changes, 2u) << "each was the largest so far";
    EXPECT_EQ(publisher->describe(), "video VP8, audio Opus, 3 layers");
    run(1500);
    publisher->on_tick(now_us / 1000 + 1000);
    EXPECT_EQ(requests().reported, (std::set<uint32_t>{100, 200, 300, kAudioSsrc}));
    EXPECT_EQ(publisher->counters().plis_sent, 0u);
}

TEST_F(PublisherLayersTest, TheirOrderIsNotTheirSize) {
    std::ranges::reverse(layers);
    connect();
    run(1000);
    EXPECT_EQ(lane.video_info().width, 1280);
    EXPECT_EQ(publisher->counters().layer_changes, 0u);
}

TEST_F(PublisherLayersTest, ALayerThatPausesIsReplacedAndReturns) {
    connect();
    run(3000);
    layer("f").on = false;
    run(1400);
    EXPECT_EQ(lane.video_info().width, 1280);
    run(400);
    EXPECT_EQ(lane.video_info().width, 640);
    check_lane();
    layer("f").on = layer("f").wants_keyframe = true;
    run(1900);
    EXPECT_EQ(lane.video_info().width, 640) << "it may be gone at once";
    run(400);
    EXPECT_EQ(lane.video_info().width, 1280);
    check_lane();
    EXPECT_EQ(session.ended, "");
}

TEST_F(PublisherLayersTest, AByeNeedsNoWait) {
    connect();
    run(3000);
    layer("f").on = false;
    std::vector<uint8_t> bye(100);
    rtcp::Writer writer(bye);
    const uint32_t ssrcs[] = {layer("f").ssrc};
    ASSERT_TRUE(writer.receiver_report(ssrcs[0]) && writer.bye(ssrcs));
    bye.resize(writer.size());
    publisher->on_rtcp(bye, now_us);
    run(240);
    EXPECT_EQ(lane.video_info().width, 640);
}

// Each layer has timestamps of its own. A frame has the same time in the lane, whatever layer it is of.
TEST_F(PublisherLayersTest, TimesContinueByTheSenderReports) {
    connect();
    run(2000);
    for (SentLayer& one : layers) report(one);
    const auto newest = [&] {
        uint64_t at = lane.ring().end() - 1;
        while (lane.ring().at(at).track != 0) --at;
        return std::pair{lane.ring().at(at).timestamp, timestamp(layer("f"))};
    };
    run(40);
    const auto before = newest();
    layer("f").on = false;
    run(2000);
    EXPECT_EQ(lane.video_info().width, 640);
    // The packets arrive later now: only the reports tell their time.
    const auto after = newest();
    EXPECT_EQ(after.first - before.first, after.second - before.second);
    EXPECT_TRUE(lane.clock(0).exact);
}

TEST_F(PublisherLayersTest, APacketNamesItsLayerUntilItsSsrcIsKnown) {
    connect();
    send(layer("f"), false);
    EXPECT_EQ(publisher->counters().foreign, 1u);
    layer("f").wants_keyframe = true;
    send(layer("f"));
    send(layer("f"), false);
    EXPECT_EQ(publisher->counters().foreign, 1u);
    layer("q").rid = "x";
    send(layer("x"));
    EXPECT_EQ(publisher->counters().foreign, 2u) << "not negotiated";
    // The same layer again, with another SSRC, while its first one sends.
    layer("f").ssrc = 301;
    send(layer("f"));
    EXPECT_EQ(publisher->counters().foreign, 3u);
    now_us += 400'000;
    send(layer("f"));
    EXPECT_EQ(publisher->counters().ssrc_changes, 1u);
    EXPECT_EQ(lane.counters().restarts, 1u);
    send(layer("h"));
    now_us += 400'000;
    layer("h").ssrc = 201;
    send(layer("h"));
    EXPECT_EQ(publisher->counters().ssrc_changes, 2u);
    EXPECT_EQ(lane.counters().restarts, 1u) << "the lane does not carry it";
}

TEST_F(PublisherLayersTest, RetransmissionsAreOfTheirLayer) {
    connect();
    run(400);
    std::vector<rtp::Header> lost;
    std::vector<std::vector<uint8_t>> payloads;
    for (SentLayer& one : layers) {
        lost.push_back({true, kVideoType, one.sequence++, timestamp(one), one.ssrc});
        payloads.push_back(payload(one, false));
    }
    now_us += 40'000;
    for (SentLayer& one : layers) send(one);
    now_us += 40'000;
    publisher->on_tick(now_us / 1000);
    const Requests got = requests();
    EXPECT_EQ(got.nacks.size(), 3u);
    for (size_t i = 0; i < layers.size(); ++i) {
        EXPECT_TRUE(got.nacks.contains({layers[i].ssrc, lost[i].sequence}));
        std::vector<uint8_t> body{static_cast<uint8_t>(lost[i].sequence >> 8), static_cast<uint8_t>(lost[i].sequence)};
        body.insert(body.end(), payloads[i].begin(), payloads[i].end());
        // The last one does not name it, but was requested of one layer only.
        const bool names = i < 2;
        put(packet({true, kRtxType, 1, lost[i].timestamp, layers[i].ssrc + 1}, body,
                   names ? kRepairedRidId : uint8_t{0}, layers[i].rid));
    }
    EXPECT_EQ(publisher->counters().by_rtx, 3u);
    EXPECT_EQ(publisher->counters().rtx_unasked, 0u);
    now_us += 200'000;
    publisher->on_tick(now_us / 1000);
    EXPECT_TRUE(requests().nacks.empty());
    size_t late = 0;
    for (uint64_t i = lane.ring().begin(); i < lane.ring().end(); ++i) late += lane.ring().at(i).late;
    EXPECT_EQ(late, 1u) << "of the layer that it carries";
}

// OBS answers for its largest layer only.
TEST_F(PublisherLayersTest, ALayerThatIgnoresNacksIsAskedForKeyframes) {
    layers.resize(2);
    connect();
    run(3000);
    layer("h").sequence += 2;
    run(1000);
    EXPECT_EQ(publisher->counters().plis_sent, 1u);
    run(2000);
    const uint32_t nacks = publisher->counters().nacks_sent;
    EXPECT_GT(nacks, 2u);
    layer("h").sequence += 2;
    run(120);
    EXPECT_EQ(publisher->counters().nacks_sent, nacks);
    EXPECT_EQ(publisher->counters().plis_sent, 2u);
    // Another layer is not concerned, and a loss of it costs no keyframe.
    layer("q").sequence += 1;
    run(240);
    EXPECT_GT(publisher->counters().nacks_sent, nacks);
    EXPECT_EQ(publisher->counters().plis_sent, 2u);
}

TEST_F(PublisherLayersTest, AStandbyOfLayersBeginsAtAKeyframeOfTheLargest) {
    config::Vhost with_standby = *vhost;
    with_standby.publish.standby = config::StandbyMode::kOn;
    vhost = &with_standby;
    FakeSession other;
    auto first = std::make_unique<Publisher>(
        MediaParts{other, registry, codec_log, stream->key(), snapshot, *vhost, {}, {}, {}}, stream,
        PublishFormat{
            .tracks = {{.track = {.kind = media::Kind::kVideo, .codec = media::Codec::kVp8, .payload_type = 96}}}},
        78);
    ASSERT_TRUE(runtime::testing::ok(first->prepare()));
    first->on_connected(now_us / 1000);
    connect();
    run(1000);
    EXPECT_EQ(lane.ring().packets(), 0u);
    EXPECT_EQ(lane.counters().restarts, 0u);
    first.reset();
    for (SentLayer& one : layers) one.wants_keyframe = true;
    run(400);
    EXPECT_TRUE(stream->published());
    EXPECT_EQ(lane.video_info().width, 1280);
    EXPECT_GE(check_lane(), 9u);
}

}  // namespace
}  // namespace service::rtc
