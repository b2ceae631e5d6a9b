#include "service/rtc/play/player.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "protocol/rtcp/parser.h"
#include "protocol/rtcp/writer.h"
#include "protocol/rtp/extensions.h"
#include "protocol/rtp/ntp.h"
#include "runtime/loop/testing.h"
#include "service/rtc/media_testing.h"

namespace service::rtc {
namespace {

using testing::FakeSession;
using testing::kAudioSsrc;
using testing::kRtxSsrc;
using testing::kVideoSsrc;

const live::RtpTrack kVideo{.kind = media::Kind::kVideo, .codec = media::Codec::kH264};
const live::RtpTrack kAudio{.kind = media::Kind::kAudio, .codec = media::Codec::kOpus, .clock_rate = 48'000};

struct Source : live::KeyframeSource {
    int asked = 0;
    void make_keyframe() override { ++asked; }
};

struct Viewer {
    FakeSession session;
    std::unique_ptr<Player> player;
    size_t read = 0;

    // Packets sent since the last call: "v1001:payload ".
    std::string got() {
        std::string text;
        for (; read < session.sent.size(); ++read) {
            const auto& packet = session.sent[read];
            auto view = rtp::PacketView::parse(packet.bytes);
            EXPECT_TRUE(view);
            EXPECT_EQ(static_cast<uint16_t>(packet.index), view->sequence());
            const char* kind = view->ssrc() == kVideoSsrc ? "v" : view->ssrc() == kRtxSsrc ? "r" : "a";
            auto payload = view->payload();
            text += kind + std::to_string(view->sequence()) + ":";
            if (*kind == 'r') {
                text += std::to_string(rtp::get_u16(payload.data())) + ":";
                payload = payload.subspan(2);
            }
            text += std::string(rtp::text_value(payload)) + " ";
        }
        return text;
    }
    void rtcp(const rtcp::Writer& writer, int64_t now_us = 0) {
        std::vector<uint8_t> bytes(writer.written().begin(), writer.written().end());
        player->on_rtcp(bytes, now_us == 0 ? base::monotonic_us() : now_us);
    }
    void nack(uint32_t ssrc, std::vector<uint16_t> sequences, int64_t later_ms = 0) {
        uint8_t out[1200];
        rtcp::Writer writer(out);
        ASSERT_EQ(writer.nack(9, ssrc, sequences), sequences.size());
        rtcp(writer, base::monotonic_us() + later_ms * 1000);
    }
    // A receiver report with that round-trip time.
    void report(int64_t round_trip_ms, uint8_t fraction_lost = 0, uint32_t jitter = 0, int64_t later_ms = 0) {
        uint8_t out[100];
        rtcp::Writer writer(out);
        const uint64_t sent = rtp::ntp_of_unix_us((base::wall_ms() - round_trip_ms) * 1000);
        const rtcp::ReportBlock block{
            .ssrc = kVideoSsrc, .fraction_lost = fraction_lost, .jitter = jitter, .last_sr = rtp::compact_ntp(sent)};
        ASSERT_TRUE(writer.receiver_report(9, std::span(&block, 1)));
        rtcp(writer, base::monotonic_us() + later_ms * 1000);
    }
    void remb(uint64_t kbps) {
        uint8_t out[100];
        rtcp::Writer writer(out);
        const uint32_t ssrc = kVideoSsrc;
        ASSERT_TRUE(writer.remb(9, kbps * 1000, std::span(&ssrc, 1)));
        rtcp(writer);
    }
    void pli() {
        uint8_t out[100];
        rtcp::Writer writer(out);
        ASSERT_TRUE(writer.pli(9, kVideoSsrc));
        rtcp(writer);
    }
};

class PlayerTest : public runtime::testing::RuntimeTest {
  protected:
    PlayerTest() { lane.set_tracks({kVideo, kAudio}); }
    std::unique_ptr<Viewer> view(bool rtx = false) {
        auto viewer = std::make_unique<Viewer>();
        MediaParts parts{
            viewer->session, registry, codec_log, stream->key(), snapshot, *snapshot->vhost("v"), {}, {}, {}};
        SendFormat video{.kind = media::Kind::kVideo,
                         .codec = media::Codec::kH264,
                         .ssrc = kVideoSsrc,
                         .rtx_ssrc = kRtxSsrc,
                         .payload_type = 102,
                         .rtx_payload_type = rtx ? uint8_t{103} : kNoPayloadType,
                         .nack = true};
        SendFormat audio{.kind = media::Kind::kAudio,
                         .codec = media::Codec::kOpus,
                         .ssrc = kAudioSsrc,
                         .payload_type = 111,
                         .red_payload_type = 63};
        viewer->player = std::make_unique<Player>(std::move(parts), stream, std::vector{audio, video}, 1000);
        viewer->player->on_connected(base::monotonic_ms());
        return viewer;
    }
    void put(size_t track, uint32_t timestamp, const std::string& text, bool keyframe = false) {
        put_as(track, next_[track]++, timestamp, text, keyframe);
    }
    void put_as(size_t track, uint16_t sequence, uint32_t timestamp, const std::string& text, bool keyframe = false) {
        lane.append(track, {sequence, timestamp, false, keyframe},
                    {reinterpret_cast<const uint8_t*>(text.data()), text.size()}, now_us);
    }
    void settle() {
        for (int i = 0; i < 4; ++i) (void)runtime::yield();
    }
    // Waits until the condition is true, or times out.
    template <class F>
    bool wait_for(F condition) {
        for (int i = 0; i < 500 && !condition(); ++i) (void)runtime::sleep_ms(5);
        return condition();
    }

    config::SnapshotPtr snapshot = config::default_snapshot();
    live::Registry registry;
    runtime::LogLimit codec_log;
    base::Ref<live::Stream> stream =
        base::make_ref<live::Stream>(nullptr, live::StreamKey{"v", "live", "s"}, live::LiveOptions{});
    live::RtpLane& lane = stream->rtp_lane();
    int64_t now_us = base::monotonic_us();
    std::map<size_t, uint16_t> next_{{0, 5}, {1, 9}};
};

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

TEST_F(PlayerTest, BeginsAtTheNewestKeyframeWithTheSoundOfNow) {
    put(0, 100, "old", true);
    put(1, 10, "oldsound");
    put(0, 200, "sps");
    put(0, 200, "idr", true);
    put(1, 20, "oldsound");
    put(0, 300, "p");
    auto viewer = view();
    settle();
    EXPECT_EQ(viewer->got(), "v1002:sps v1003:idr v1004:p ");
    put(1, 30, "sound");
    put(0, 400, "p");
    settle();
    EXPECT_EQ(viewer->got(), "a1001:sound v1005:p ");
}

TEST_F(PlayerTest, WaitsForAKeyframeAndAsksForIt) {
    Source source;
    lane.set_keyframe_source(&source);
    put(0, 100, "p");
    auto a = view(), b = view();
    settle();
    put(0, 200, "p");
    put(1, 20, "sound");
    settle();
    EXPECT_EQ(a->got(), "a1001:sound ");
    EXPECT_EQ(source.asked, 1);  // one request for both
    put(0, 300, "idr", true);
    put(0, 400, "p");
    settle();
    EXPECT_EQ(a->got(), "v1002:idr v1003:p ");
    EXPECT_EQ(b->got(), "a1001:sound v1002:idr v1003:p ");
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

TEST_F(PlayerTest, AKeyframeWhosePacketsOvertookEachOther) {
    put_as(0, 5, 100, "p");
    put_as(0, 7, 200, "idr2", true);
    put_as(0, 6, 200, "idr1", true);
    put_as(0, 8, 200, "idr3");
    auto viewer = view();
    settle();
    EXPECT_EQ(viewer->got(), "v1003:idr2 v1002:idr1 v1004:idr3 ");
}

TEST_F(PlayerTest, AnswersOfThePublisherAreWaitedForRatherThanMuchSent) {
    put(0, 100, "idr", true);
    for (uint32_t i = 0; i < 400; ++i) put(0, 200 + i, std::string(1000, 'x'));
    auto frames = view();
    EXPECT_TRUE(wait_for([&] { return frames->session.sent.size() == 401; }));
    Source source;
    lane.set_keyframe_source(&source);
    auto rtp = view();
    settle();
    put(0, 1000, "p");
    settle();
    EXPECT_EQ(rtp->got(), "");
    EXPECT_EQ(source.asked, 1);
    put(0, 1100, "idr", true);
    settle();
    EXPECT_EQ(rtp->got(), "v1002:idr ");
}

TEST_F(PlayerTest, APublisherThatSendsNoKeyframeIsNotWaitedForLong) {
    put(0, 100, "idr", true);
    for (uint32_t i = 0; i < 400; ++i) put(0, 200 + i, std::string(1000, 'x'));
    Source source;
    lane.set_keyframe_source(&source);
    auto viewer = view();
    settle();
    EXPECT_EQ(viewer->got(), "");
    const auto everything = [&] {
        put(0, 1000, "p");
        return viewer->session.sent.size() > 401;
    };
    EXPECT_TRUE(wait_for(everything));
    EXPECT_EQ(source.asked, 1);
}

TEST_F(PlayerTest, OneKeyframeServesAllWhoJoin) {
    Source source;
    lane.set_keyframe_source(&source);
    put(0, 100, "p");
    auto first = view();
    settle();
    EXPECT_EQ(source.asked, 1) << "there is none to begin at";
    put(0, 200, "idr", true);
    for (uint32_t i = 0; i < 300; ++i) put(0, 300 + i, std::string(1000, 'x'));
    auto second = view();
    EXPECT_TRUE(wait_for([&] { return second->session.sent.size() == 301; })) << "at once, though it is much";
    EXPECT_EQ(source.asked, 1);
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
    Source source;
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

// The estimate falls below what is sent, again and again: audio goes on, the video is measured out, and its packets
// tell when they are sent.
TEST_F(PlayerTest, AViewerWithAShortLinkGetsAudioAndAsMuchVideoAsItTakes) {
    put(0, 100, "idr", true);
    auto viewer = view(true);
    settle();
    viewer->session.counts.bytes_sent = 1'000'000;
    for (const uint64_t remb : {9'000, 400, 300, 80}) {
        (void)runtime::sleep_ms(310);
        viewer->session.counts.bytes_sent += 40'000;  // 1,000 kbit/s
        viewer->remb(remb);
    }
    const std::string large(1'000, 'x');
    // It takes what the link sends in 0.1 s: for so long nothing follows it.
    put(0, 150, large);
    std::string before;
    ASSERT_TRUE(wait_for([&] { return (before += viewer->got()).find("v1003:") != std::string::npos; }));
    for (uint32_t i = 0; i < 50; ++i) put(0, 200 + i, large);
    put(1, 20, "sound");
    settle();
    EXPECT_EQ(viewer->got(), "a1001:sound ") << "it is not held back by the video before it";
    (void)runtime::sleep_ms(300);
    const size_t sent = viewer->session.sent.size();
    viewer->read = sent;
    EXPECT_LT(sent, 3 + 10u) << "80 kbit/s are 3 packets in 300 ms";
    EXPECT_GT(sent, 3u) << "the video goes on where it was";
    put(0, 400, "IDR", true);
    std::string later;
    const auto has_skipped = [&] { return (later += viewer->got()).ends_with(":IDR "); };
    EXPECT_TRUE(wait_for(has_skipped)) << "what is late is skipped";
    viewer->player->on_tick(base::monotonic_ms());
    const net::RtcQuality told = viewer->player->quality();
    ASSERT_TRUE(told.viewing);
    EXPECT_EQ(told.viewing->sent, net::RtcSent::kHeads);
    EXPECT_GT(told.viewing->estimate_kbps, 50u);
    EXPECT_LE(told.viewing->estimate_kbps, 80u);
    ASSERT_EQ(told.viewing->history.size(), 1u);
    EXPECT_EQ(told.viewing->history[0].sent, net::RtcSent::kHeads);
    EXPECT_EQ(told.viewing->history[0].estimate_kbps, told.viewing->estimate_kbps);
    EXPECT_GT(told.trouble(), 1000);
    // A connection that is full does not end it: the video goes on with the next keyframe at the latest.
    viewer->session.full = true;
    now_us -= 1'500'000;
    put(0, 500, "late");
    now_us += 1'500'000;
    settle();
    viewer->session.full = false;
    put(0, 600, "KEY", true);
    const auto goes_on = [&] { return (later += viewer->got()).find(":KEY ") != std::string::npos; };
    EXPECT_TRUE(wait_for(goes_on));
    EXPECT_EQ(rtc_stats().on_heads, 1u);
    viewer.reset();
    EXPECT_EQ(rtc_stats().on_heads, 0u);
}

TEST_F(PlayerTest, AViewerThatLosesPacketsGetsAudioRedundantly) {
    auto viewer = view();
    put(0, 100, "idr", true);
    put(1, 960, "a");
    settle();
    viewer->report(50, 20);
    put(1, 1'920, "b");
    settle();
    EXPECT_EQ(viewer->got(), "v1002:idr a1001:a a1002:b ") << "one report of losses tells nothing";
    viewer->report(50, 20, 0, 1'000);
    put(1, 2'880, "c");
    settle();
    const std::vector<uint8_t> bytes = viewer->session.sent.back().bytes;
    const auto view = *rtp::PacketView::parse(bytes);
    EXPECT_EQ(view.payload_type(), 63);
    EXPECT_EQ(view.sequence(), 1003);
    EXPECT_EQ(rtp::text_value(view.payload().last(4)), "oabc") << "o is 111, the primary's payload type";
    viewer->report(50, 0, 0, 40'000);
    put(1, 3'840, "d");
    settle();
    (void)viewer->got();
    EXPECT_EQ(rtp::PacketView::parse(viewer->session.sent.back().bytes)->payload_type(), 111);
}

TEST_F(PlayerTest, RequestsForKeyframesAreMerged) {
    Source source;
    lane.set_keyframe_source(&source);
    put(0, 100, "idr", true);
    auto a = view(), b = view();
    settle();
    for (int i = 0; i < 20; ++i) {
        a->pli();
        b->pli();
    }
    EXPECT_EQ(source.asked, 1);
    EXPECT_EQ(a->player->counters().keyframe_requests, 20u);
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

TEST_F(PlayerTest, WhoComesAfterAnotherSourceWaitsForItsKeyframe) {
    put(0, 100, "idr", true);
    lane.restart_track(0);
    put_as(0, 40'000, 7'000'000, "P");
    auto viewer = view();
    settle();
    EXPECT_EQ(viewer->got(), "");
    put_as(0, 40'001, 7'003'000, "IDR", true);
    settle();
    EXPECT_EQ(viewer->got(), "v1002:IDR ");
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

TEST_F(PlayerTest, ABurstIsSpreadAndNothingIsLost) {
    put(0, 100, "k", true);
    for (uint32_t i = 0; i < 500; ++i) put(0, 200 + i, "x");
    auto viewer = view();
    settle();
    EXPECT_LT(viewer->session.sent.size(), 400u);
    EXPECT_TRUE(wait_for([&] { return viewer->session.sent.size() == 501; })) << viewer->session.sent.size();
}

TEST_F(PlayerTest, WhileASenderThreadHasMuchToDoHeWaitsForATick) {
    put(0, 100, "idr", true);
    auto viewer = view();
    settle();
    (void)viewer->got();
    viewer->session.crowded = true;
    put(0, 200, "b");
    settle();
    EXPECT_EQ(viewer->got(), "");
    viewer->session.crowded = false;
    EXPECT_TRUE(wait_for([&] { return viewer->session.packets == 2; })) << "without another packet";
    EXPECT_EQ(viewer->got(), "v1003:b ");
}

TEST_F(PlayerTest, WhileHisConnectionIsFullNothingIsSent) {
    put(0, 100, "idr", true);
    auto viewer = view();
    settle();
    (void)viewer->got();
    viewer->session.full = true;
    put(0, 200, "b");
    settle();
    EXPECT_EQ(viewer->got(), "");
    viewer->session.full = false;
    put(0, 300, "c");
    settle();
    EXPECT_EQ(viewer->got(), "v1003:b v1004:c ");
    // Full for too long: it continues at the next keyframe.
    viewer->session.full = true;
    now_us -= 1'500'000;
    put(0, 400, "d");
    now_us += 1'500'000;
    settle();
    put(0, 500, "e");
    settle();
    put(0, 600, "f");
    settle();
    viewer->session.full = false;
    put(0, 700, "g");
    put(0, 800, "idr", true);
    settle();
    EXPECT_EQ(viewer->got(), "v1005:idr ");
    EXPECT_EQ(viewer->player->counters().jumps, 1u);
}

TEST_F(PlayerTest, LeavesAtTheEndAndWhenDestroyed) {
    auto a = view(), b = view();
    EXPECT_EQ(lane.players(), 2u);
    a->player->on_closed();
    EXPECT_EQ(lane.players(), 1u);
    a.reset();
    b.reset();
    EXPECT_EQ(lane.players(), 0u);
}

TEST_F(PlayerTest, TheStreamsEndEndsTheSession) {
    auto viewer = view();
    stream->end_viewers();
    EXPECT_EQ(viewer->session.reason, base::CloseReason::kStreamEnded);
}

// Viewers leave and join while the pump iterates: none is called after it has ended, and none misses a packet.
TEST_F(PlayerTest, ViewersLeaveWhileThePumpWalks) {
    put(0, 100, "idr", true);
    std::vector<std::unique_ptr<Viewer>> viewers;
    for (int i = 0; i < 120; ++i) viewers.push_back(view());
    runtime::Task leaver = runtime::spawn("leaver", [&] {
        for (int i = 0; i < 60; ++i) {
            viewers.erase(viewers.begin() + (i * 7) % static_cast<int>(viewers.size()));
            if (i % 3 == 0) viewers.push_back(view());
            (void)runtime::yield();
        }
    });
    for (uint32_t i = 0; i < 100; ++i) {
        put(0, 200 + i, "p");
        (void)runtime::yield();
    }
    leaver.cancel_and_join();
    EXPECT_EQ(lane.players(), viewers.size());
    EXPECT_TRUE(wait_for(
        [&] { return std::ranges::all_of(viewers, [](auto& viewer) { return viewer->session.sent.size() == 101; }); }));
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
