// What a player was sent and is sent again.
#include <algorithm>

#include "service/rtc/play/player_testing.h"

namespace service::rtc {
namespace {

using testing::kAudio;
using testing::kAudioSsrc;
using testing::KeyframeCounter;
using testing::kVideo;
using testing::kVideoSsrc;
using testing::PlayerTest;

TEST_F(PlayerTest, NacksAreAnsweredFromTheRing) {
    put(0, 100, "idr", true);
    put(0, 200, "b");
    put(0, 300, "c");
    auto plain = view(), rtx = view(true);
    settle();
    (void)plain->got();
    (void)rtx->got();
    plain->nack(kVideoSsrc, {1003, 1004, 2000});
    EXPECT_EQ(plain->got(), "v1003:b v1004:c ");
    EXPECT_EQ(plain->player->counters().nacks, 3u);
    EXPECT_EQ(plain->player->counters().nacks_unknown, 1u);
    EXPECT_EQ(plain->player->counters().retransmitted, 2u);
    rtx->nack(kVideoSsrc, {1003});
    rtx->nack(kVideoSsrc, {1003}, 1000);
    const std::string got = rtx->got();
    EXPECT_TRUE(got.find(":1003:b ") != std::string::npos && got.starts_with("r")) << got;
    EXPECT_EQ(std::ranges::count(got, 'r'), 2);
    // Identical bytes, as SRTP requires for the same sequence number.
    EXPECT_EQ(plain->session.sent[1].bytes, plain->session.sent[3].bytes);
    // For another SSRC, or for a track without NACK.
    plain->nack(0x9999, {1003});
    plain->nack(kAudioSsrc, {1003});
    EXPECT_EQ(plain->got(), "");
}

TEST_F(PlayerTest, WhoLosesTooMuchGoesOnAtAKeyframe) {
    KeyframeCounter source;
    lane.set_keyframe_source(&source);
    const std::string large(1000, 'x');
    put(0, 100, large, true);
    auto viewer = view(true);
    settle();
    for (uint32_t i = 0; i < 700; ++i) put(0, 200 + i, large);
    ASSERT_TRUE(wait_for([&] { return viewer->session.sent.size() == 701; }));
    for (uint16_t part = 0; part < 8; ++part) {
        std::vector<uint16_t> some;
        for (uint16_t i = 0; i < 100; ++i) some.push_back(static_cast<uint16_t>(1002 + (part * 100 + i) % 700));
        viewer->nack(kVideoSsrc, some);
    }
    const auto& counters = viewer->player->counters();
    EXPECT_EQ(counters.nacks, 800u);
    EXPECT_GT(counters.nacks_refused, 0u);
    EXPECT_EQ(counters.jumps, 1u);
    // Half of the bytes sent, plus the initial credit.
    EXPECT_LE(counters.retransmitted, (256u * 1024 + 701'000 / 2) / 1000 + 1);
    EXPECT_GT(counters.retransmitted, 500u);
    (void)viewer->got();
    put(0, 500, "p");
    put(1, 50, "sound");
    settle();
    EXPECT_EQ(viewer->got(), "a1001:sound ");
    put(0, 600, "idr", true);
    settle();
    EXPECT_EQ(viewer->got(), "v1703:idr ");  // without a gap
}

TEST_F(PlayerTest, WhoAsksOnForAPacketGetsItAFewTimes) {
    put(0, 100, "idr", true);
    put(0, 200, "b");
    auto viewer = view(true);
    settle();
    (void)viewer->got();
    for (int i = 0; i < 100; ++i) viewer->nack(kVideoSsrc, {1003}, i * 10);
    EXPECT_EQ(viewer->player->counters().retransmitted, 6u);
    EXPECT_EQ(viewer->player->counters().nacks_repeated, 94u);
}

// The previous answer may still be in flight.
TEST_F(PlayerTest, NoPacketIsSentAgainWithinARoundTrip) {
    put(0, 100, "idr", true);
    put(0, 200, "b");
    auto viewer = view();
    settle();
    (void)viewer->got();
    viewer->report(400);
    for (int ms = 0; ms < 300; ms += 10) viewer->nack(kVideoSsrc, {1003}, ms);
    EXPECT_EQ(viewer->got(), "v1003:b ");
    viewer->nack(kVideoSsrc, {1003}, 1100);
    EXPECT_EQ(viewer->got(), "v1003:b ");
    // The shortest of the last round trips counts.
    viewer->report(10);
    viewer->nack(kVideoSsrc, {1003}, 1400);
    EXPECT_EQ(viewer->got(), "v1003:b ");
}

// Clients ask about once a round trip, now and then a bit sooner.
TEST_F(PlayerTest, ALostAnswerIsSentAgainWithTheNextNack) {
    put(0, 100, "idr", true);
    put(0, 200, "b");
    auto viewer = view();
    settle();
    (void)viewer->got();
    for (const int64_t ms : {108, 100, 105}) viewer->report(ms);
    viewer->nack(kVideoSsrc, {1003});
    viewer->nack(kVideoSsrc, {1003}, 97);
    EXPECT_EQ(viewer->got(), "v1003:b v1003:b ");
}

TEST_F(PlayerTest, APacketThatCameLateFromThePublisherAnswersTheNacksBefore) {
    put(0, 100, "idr", true);
    auto viewer = view();
    settle();
    viewer->report(120);
    put_as(0, 7, 200, "c");
    put_as(0, 6, 200, "b");
    settle();
    EXPECT_EQ(viewer->got(), "v1002:idr v1004:c v1003:b ");
    viewer->nack(kVideoSsrc, {1003}, 60);
    EXPECT_EQ(viewer->got(), "") << "it is on its way";
    EXPECT_EQ(viewer->player->counters().nacks_repeated, 1u);
    viewer->nack(kVideoSsrc, {1003}, 150);
    EXPECT_EQ(viewer->got(), "v1003:b ") << "it was lost";
}

// pion behaves like this: it does not count packets received by RTX. Every fifth packet is lost, and requested every
// 100 ms for as long as it is one of the last 512.
TEST_F(PlayerTest, WhoAsksOnForAllDoesNotUseUpWhatIsForFirstAnswers) {
    const std::string large(1000, 'x');
    put(0, 100, large, true);
    auto viewer = view(true);
    settle();
    (void)viewer->got();
    std::vector<uint16_t> missing;
    for (uint16_t turn = 0; turn < 160; ++turn) {
        for (uint16_t i = 1; i <= 5; ++i) put(0, 100u + turn, large);
        ASSERT_TRUE(wait_for([&] { return viewer->player->counters().packets == turn * 5u + 6; }));
        missing.push_back(static_cast<uint16_t>(1002 + turn * 5 + 3));
        if (missing.size() > 102) missing.erase(missing.begin());
        (void)viewer->got();
        viewer->nack(kVideoSsrc, missing, turn * 100);
        const std::string newest = ":" + std::to_string(missing.back()) + ":";
        ASSERT_NE(viewer->got().find(newest), std::string::npos) << "in iteration " << turn;
    }
    const auto& counters = viewer->player->counters();
    EXPECT_EQ(counters.nacks_refused, 0u);
    EXPECT_EQ(counters.jumps, 0u);
    EXPECT_GE(counters.retransmitted, 2 * 160u) << "the budget allows more than that";
    EXPECT_LE(counters.retransmitted, (256u * 1024 + 801'000 / 2) / 1000 + 1);
}

TEST(RetransmissionLog, TheLaterOfTwoThatShareAPlaceHasIt) {
    RetransmissionLog retransmission_log;
    RetransmissionLog::Packet* old = retransmission_log.find(media::Kind::kVideo, 10, 1000);
    ASSERT_TRUE(old && old->is_due(1000, 0, false));
    old->sent(1000);
    EXPECT_FALSE(retransmission_log.find(media::Kind::kVideo, 10, 1039)->is_due(1039, 0, false));
    EXPECT_TRUE(retransmission_log.find(media::Kind::kVideo, 10, 1040)->is_due(1040, 0, false));
    EXPECT_TRUE(retransmission_log.find(media::Kind::kVideo, 10, 1040)->is_due(1040, 45, false));
    EXPECT_FALSE(retransmission_log.find(media::Kind::kVideo, 10, 1040)->is_due(1040, 50, false));
    EXPECT_FALSE(retransmission_log.find(media::Kind::kVideo, 10, 1200)->is_due(1200, 300, false));
    EXPECT_TRUE(retransmission_log.find(media::Kind::kVideo, 10, 1200)->is_due(1200, 300, true));
    RetransmissionLog::Packet* later = retransmission_log.find(media::Kind::kVideo, 10 + 256, 1050);
    ASSERT_TRUE(later && later->tries == 0);
    later->sent(1050);
    EXPECT_EQ(retransmission_log.find(media::Kind::kVideo, 10, 1100), nullptr);
    EXPECT_EQ(retransmission_log.find(media::Kind::kVideo, 10 + 256, 1100)->tries, 1);
    // The numbers have wrapped; audio has its own slots.
    EXPECT_TRUE(retransmission_log.find(media::Kind::kVideo, 10, 30'000));
    EXPECT_EQ(retransmission_log.find(media::Kind::kAudio, 10 + 256, 1100)->tries, 0);
}

// FakeSession fails when an SRTP index is used for other bytes.
TEST_F(PlayerTest, APacketThatTheRingHasForgottenIsNotSentAgainWithOtherBytes) {
    auto plain = view(), rtx = view(true);
    put_as(0, 65'534, 100, "idr", true);
    for (uint16_t i = 1; i < 30; ++i) {
        put_as(0, static_cast<uint16_t>(65'534 + i), 100u + i, "p");
        settle();
        now_us += 500'000;
    }
    settle();
    (void)plain->got();
    (void)rtx->got();
    for (uint16_t i = 0; i < 30; ++i) put_as(0, static_cast<uint16_t>(65'534 + i), 100u + i, "other");
    settle();
    EXPECT_EQ(plain->got() + rtx->got(), "");
    EXPECT_EQ(lane.counters().refused, 30u);
}

TEST_F(PlayerTest, APacketFromBeforeASkipIsNotSentAfterIt) {
    put(0, 100, "idr", true);
    auto viewer = view();
    settle();
    put_as(0, 7, 200, "p");
    settle();
    EXPECT_EQ(viewer->got(), "v1002:idr v1004:p ");
    // The connection is full for too long: the viewer continues at the next keyframe.
    viewer->session.full = true;
    now_us -= 1'500'000;
    put_as(0, 9, 300, "p");
    now_us += 1'500'000;
    settle();
    EXPECT_EQ(viewer->player->counters().jumps, 1u);
    viewer->session.full = false;
    put_as(0, 12, 400, "idr", true);
    for (uint16_t sequence : {6, 8, 10, 11}) put_as(0, sequence, 300, "late");
    settle();
    EXPECT_EQ(viewer->got(), "v1005:idr ");
    viewer->nack(kVideoSsrc, {1003, 1004});
    EXPECT_EQ(viewer->got(), "v1003:late v1004:p ") << "under the numbers of before the skip";
    // A later publisher's numbers are other packets'.
    lane.set_tracks({kVideo, kAudio});
    put_as(0, 7, 1, "IDR", true);
    put_as(0, 8, 1, "P");
    settle();
    EXPECT_EQ(viewer->got(), "v1006:IDR v1007:P ");
    viewer->nack(kVideoSsrc, {1002, 1003, 1004, 1005, 1006});
    EXPECT_EQ(viewer->got(), "v1006:IDR ");
}

// Each publisher has its tracks in another order, and not all of them.
TEST_F(PlayerTest, AnotherPublishersPacketsAreNotSentForTheNacksOfTheLast) {
    const live::RtpTrack vp8{.kind = media::Kind::kVideo, .codec = media::Codec::kVp8};
    const std::vector<std::vector<live::RtpTrack>> orders{{kVideo, vp8},   {vp8, kVideo}, {kAudio}, {kVideo, vp8}, {},
                                                          {kAudio, kVideo}};
    auto viewer = view();
    uint16_t last = 1000;
    for (int round = 0; round < 20; ++round) {
        const auto& tracks = orders[static_cast<size_t>(round) % orders.size()];
        lane.set_tracks(tracks);
        for (uint16_t i = 0; i < 200; ++i) {
            for (size_t track = 0; track < tracks.size(); ++track)
                if (track == 0 || i < 10)
                    put_as(track, i, 100, std::to_string(round) + "," + std::to_string(i), i == 0);
            if (i % 20 == 0) settle();
        }
        settle();
        for (; viewer->read < viewer->session.sent.size(); ++viewer->read) {
            auto sent = rtp::PacketView::parse(viewer->session.sent[viewer->read].bytes);
            if (sent->ssrc() == kVideoSsrc) last = sent->sequence();
        }
        std::vector<uint16_t> all;
        for (uint16_t number = std::max<uint16_t>(1000, last - 300); number <= last; ++number) all.push_back(number);
        viewer->nack(kVideoSsrc, all, round * 1000);
    }
    EXPECT_GT(viewer->player->counters().retransmitted, 20u);
    EXPECT_GT(viewer->player->counters().nacks_unknown, 100u);
}

}  // namespace
}  // namespace service::rtc
