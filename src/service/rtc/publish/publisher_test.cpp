#include "service/rtc/publish/publisher.h"

#include <algorithm>

#include "base/clock.h"
#include "base/hex_testing.h"
#include "protocol/rtcp/parser.h"
#include "protocol/rtcp/transport_feedback_testing.h"
#include "protocol/rtcp/writer.h"
#include "protocol/rtp/extensions.h"
#include "protocol/rtp/ntp.h"
#include "runtime/loop/testing.h"
#include "service/rtc/config.h"
#include "service/rtc/media_testing.h"
#include "service/rtc/publish/video_info.h"

namespace service::rtc {
namespace {

using testing::FakeSession;
using testing::kAudioSsrc;
using testing::kRtxSsrc;
using testing::kVideoSsrc;

constexpr uint8_t kTwccId = 5, kMidId = 1;

// The content of all RTCP packets sent to the publisher.
struct Told : rtcp::Visitor {
    std::vector<uint16_t> nacks;
    std::vector<rtcp::ReportBlock> reports;
    int plis = 0;
    int twcc_packets = 0;
    uint64_t remb = 0;
    void on_report_block(uint32_t, const rtcp::ReportBlock& block) override { reports.push_back(block); }
    void on_nack(uint32_t, uint32_t, rtcp::LostSequences lost) override {
        lost.for_each([this](uint16_t sequence) { nacks.push_back(sequence); });
    }
    void on_pli(uint32_t, uint32_t) override { ++plis; }
    void on_transport_feedback(uint32_t sender, uint32_t media, std::span<const uint8_t> body) override {
        const auto feedback = rtcp::TransportFeedback::parse(sender, media, body);
        ASSERT_TRUE(feedback);
        feedback->for_each([this](uint16_t, std::optional<int64_t> came) { twcc_packets += came.has_value(); });
    }
    void on_remb(uint32_t, uint64_t rate, rtcp::SsrcList) override { remb = rate; }
};

class PublisherTest : public runtime::testing::RuntimeTest {
  protected:
    static PublishFormat both() {
        ReceiveFormat video{.track = {.kind = media::Kind::kVideo,
                                      .codec = media::Codec::kH264,
                                      .payload_type = 102,
                                      .ssrc = kVideoSsrc},
                            .rtx_payload_type = 103,
                            .rtx_ssrc = kRtxSsrc,
                            .nack = true,
                            .pli = true,
                            .transport_cc = true,
                            .mid = "0"};
        ReceiveFormat audio{.track = {.kind = media::Kind::kAudio,
                                      .codec = media::Codec::kOpus,
                                      .clock_rate = 48'000,
                                      .channels = 2,
                                      .payload_type = 111},
                            .mid = "1"};
        return {.tracks = {video, audio}, .mid_id = kMidId, .twcc_id = kTwccId};
    }
    std::unique_ptr<Publisher> make(FakeSession& to, const PublishFormat& format = both()) {
        MediaParts parts{to, registry, codec_log, stream->key(), snapshot, *vhost, {}, {}, {}};
        return std::make_unique<Publisher>(std::move(parts), stream, format, 77);
    }
    std::unique_ptr<Publisher> connected(const PublishFormat& format = both()) {
        FakeSession& to = session;
        auto publisher = make(to, format);
        EXPECT_TRUE(runtime::testing::ok(publisher->prepare()));
        publisher->on_connected(now_us / 1000);
        EXPECT_EQ(to.ended, "");
        return publisher;
    }
    std::vector<uint8_t> packet(uint32_t ssrc, uint8_t type, uint16_t sequence, std::string_view payload,
                                std::vector<rtp::Extension> extensions = {}) {
        std::vector<uint8_t> out(rtp::written_header_size(extensions));
        rtp::write_header(out.data(), {false, type, sequence, 3000u * sequence, ssrc}, extensions);
        out.insert(out.end(), payload.begin(), payload.end());
        return out;
    }
    void put(Publisher& publisher, std::vector<uint8_t> bytes) { publisher.on_rtp(bytes, now_us); }
    void video(Publisher& publisher, uint16_t sequence, std::string_view payload = "A") {
        put(publisher, packet(kVideoSsrc, 102, sequence, payload));
    }
    std::string lane_text() {
        std::string text;
        for (uint64_t i = lane.ring().begin(); i < lane.ring().end(); ++i)
            text += std::to_string(lane.ring().at(i).track) + ":" + std::string(lane.ring().at(i).payload.text()) + " ";
        return text;
    }
    Told told() {
        Told all;
        for (const auto& bytes : session.rtcp) EXPECT_TRUE(rtcp::parse(bytes, all).framed);
        session.rtcp.clear();
        return all;
    }

    config::SnapshotPtr snapshot = config::default_snapshot();
    const config::Vhost* vhost = snapshot->vhost("v");
    live::Registry registry;
    runtime::LogLimit codec_log;
    base::Ref<live::Stream> stream =
        base::make_ref<live::Stream>(nullptr, live::StreamKey{"v", "live", "s"}, live::LiveOptions{});
    live::RtpLane& lane = stream->rtp_lane();
    FakeSession session;
    int64_t now_us = base::monotonic_us();
};

TEST_F(PublisherTest, PacketsGoIntoTheLaneAsTheyCame) {
    auto publisher = connected();
    ASSERT_EQ(lane.tracks().size(), 2u);
    EXPECT_TRUE(stream->published());
    EXPECT_TRUE(stream->publisher()->publishes_rtp());
    video(*publisher, 10, "A");
    video(*publisher, 12, "C");
    video(*publisher, 11, "B");
    // The offer did not contain its SSRC, so it is found by its payload type.
    put(*publisher, packet(kAudioSsrc, 111, 500, "s"));
    put(*publisher, packet(kAudioSsrc, 111, 501, "t"));
    EXPECT_EQ(lane_text(), "0:A 0:C 0:B 1:s 1:t ");
    EXPECT_EQ(stream->figures().video_frames, 2u);  // the late packet has neither a new frame nor a new timestamp
    EXPECT_EQ(stream->figures().audio_frames, 2u);
}

TEST_F(PublisherTest, WhatIsMissingIsAskedForAndComesByRtx) {
    auto publisher = connected();
    video(*publisher, 10, "A");
    video(*publisher, 13, "D");
    now_us += 30'000;
    publisher->on_tick(now_us / 1000);
    EXPECT_EQ(told().nacks, (std::vector<uint16_t>{11, 12}));
    // Not requested again at once.
    publisher->on_tick(now_us / 1000);
    EXPECT_TRUE(told().nacks.empty());
    put(*publisher, packet(kRtxSsrc, 103, 900,
                           std::string_view("\0\x0b"
                                            "B",
                                            3)));
    EXPECT_EQ(lane_text(), "0:A 0:D 0:B ");
    EXPECT_EQ(publisher->counters().by_rtx, 1u);
    // Padding only, and a packet that is too short: ignored.
    put(*publisher, packet(kRtxSsrc, 103, 901, ""));
    put(*publisher, packet(kRtxSsrc, 103, 902, "x"));
    EXPECT_EQ(lane.ring().packets(), 3u);
}

TEST_F(PublisherTest, WhatComesByRtxUnaskedIsDropped) {
    auto publisher = connected();
    video(*publisher, 10, "A");
    video(*publisher, 13, "D");
    uint16_t rtx_sequence = 900;
    const auto rtx = [&](uint16_t original, char payload) {
        const char content[] = {static_cast<char>(original >> 8), static_cast<char>(original), payload};
        put(*publisher, packet(kRtxSsrc, 103, rtx_sequence++, std::string_view(content, 3)));
    };
    rtx(11, 'b');  // missing, but not yet requested
    rtx(13, 'd');
    rtx(14, 'e');
    now_us += 20'000;
    publisher->on_tick(now_us / 1000);
    EXPECT_EQ(told().nacks, (std::vector<uint16_t>{11, 12}));
    rtx(11, 'B');
    rtx(11, 'x');
    video(*publisher, 12, "C");  // late, not lost
    rtx(12, 'x');
    video(*publisher, 14, "E");
    EXPECT_EQ(lane_text(), "0:A 0:D 0:B 0:C 0:E ");
    EXPECT_EQ(publisher->counters().rtx_unasked, 5u);
    EXPECT_EQ(publisher->counters().by_rtx, 6u);
}

TEST_F(PublisherTest, TicksSoonerWhileSomethingIsMissing) {
    auto publisher = connected();
    video(*publisher, 10);
    EXPECT_EQ(publisher->tick_ms(), 100);
    EXPECT_TRUE(session.hurried_ms.empty());
    video(*publisher, 12);
    EXPECT_EQ(publisher->tick_ms(), 20);
    EXPECT_EQ(session.hurried_ms, std::vector<int64_t>{now_us / 1000});
    video(*publisher, 14);
    EXPECT_EQ(session.hurried_ms.size(), 1u) << "it knows";
    now_us += 20'000;
    publisher->on_tick(now_us / 1000);
    EXPECT_EQ(told().nacks, (std::vector<uint16_t>{11, 13}));
    EXPECT_EQ(publisher->tick_ms(), 20) << "until they come";
    video(*publisher, 11);
    video(*publisher, 13);
    publisher->on_tick(now_us / 1000);
    EXPECT_EQ(publisher->tick_ms(), 100);
}

TEST_F(PublisherTest, TicksSoonerOnceWhenTooMuchIsMissing) {
    PublishFormat format = both();
    format.tracks[1].nack = true;
    auto publisher = connected(format);
    for (const auto& [ssrc, type] : {std::pair{kVideoSsrc, 102}, std::pair{kAudioSsrc, 111}}) {
        put(*publisher, packet(ssrc, static_cast<uint8_t>(type), 10, "A"));
        put(*publisher, packet(ssrc, static_cast<uint8_t>(type), 2000, "B"));
        EXPECT_EQ(publisher->tick_ms(), 20) << type;
        session.hurried_ms.clear();
        publisher->on_tick(now_us / 1000);
        EXPECT_EQ(publisher->tick_ms(), 100) << type;
        put(*publisher, packet(ssrc, static_cast<uint8_t>(type), 2001, "C"));
        EXPECT_TRUE(session.hurried_ms.empty()) << type;
    }
}

TEST_F(PublisherTest, AHoleThatIsNotMendedEndsInARequestForAKeyframe) {
    auto publisher = connected();
    video(*publisher, 10);
    video(*publisher, 12);
    int asked = 0;
    for (int i = 0; i < 200; ++i) {
        now_us += 20'000;
        video(*publisher, static_cast<uint16_t>(13 + i));
        publisher->on_tick(now_us / 1000);
        asked += static_cast<int>(told().nacks.size());
    }
    EXPECT_GT(asked, 1);
    EXPECT_LE(asked, 10);
    EXPECT_GE(publisher->counters().plis_sent, 1u);
}

TEST_F(PublisherTest, PlayersRequestsBecomeOnePli) {
    auto publisher = connected();
    video(*publisher, 10);
    for (int i = 0; i < 10; ++i) lane.request_keyframe(now_us / 1000);
    EXPECT_EQ(told().plis, 1);
}

TEST_F(PublisherTest, ReportsWhatCame) {
    auto publisher = connected();
    for (uint16_t i = 0; i < 100; ++i) {
        if (i % 10 == 5) continue;
        now_us += 10'000;
        const uint8_t number[2] = {0, static_cast<uint8_t>(i)};
        put(*publisher, packet(kVideoSsrc, 102, i, "A", {{kTwccId, number}}));
    }
    now_us += 200'000;
    publisher->on_tick(now_us / 1000);
    const Told all = told();
    ASSERT_EQ(all.reports.size(), 1u);
    EXPECT_EQ(all.reports[0].ssrc, kVideoSsrc);
    EXPECT_EQ(all.reports[0].cumulative_lost, 10);
    EXPECT_NEAR(all.reports[0].fraction_lost, 25, 1);
    EXPECT_NEAR(publisher->quality().lost_percent, 10, 1);
    EXPECT_FALSE(publisher->quality().rtt_ms);
    EXPECT_EQ(all.twcc_packets, 90);
    EXPECT_EQ(all.remb, 0u);
}

TEST_F(PublisherTest, RembWhereThereIsNoTransportWideFeedback) {
    PublishFormat format = both();
    format.tracks[0].transport_cc = false;
    format.tracks[0].remb = true;
    auto publisher = connected(format);
    video(*publisher, 1);
    now_us += 1'100'000;
    publisher->on_tick(now_us / 1000);
    EXPECT_GE(told().remb, 10'000'000u);
    // A loss of one third.
    for (uint16_t i = 2; i < 600; ++i)
        if (i % 3 != 0) video(*publisher, i, std::string(1000, 'x'));
    now_us += 1'100'000;
    publisher->on_tick(now_us / 1000);
    const uint64_t offered = told().remb;
    EXPECT_LT(offered, 3'000'000u);
    EXPECT_GT(offered, 1'000'000u);
}

TEST_F(PublisherTest, SenderReportsTellTheClock) {
    auto publisher = connected();
    video(*publisher, 10);
    put(*publisher, packet(kAudioSsrc, 111, 7, "s"));
    uint8_t out[200];
    rtcp::Writer writer(out);
    const uint64_t ntp = rtp::ntp_of_unix_us(5'000'000'000);
    ASSERT_TRUE(writer.sender_report({kVideoSsrc, ntp, 30'000, 1, 1}));
    ASSERT_TRUE(writer.sender_report({kAudioSsrc, rtp::ntp_of_unix_us(5'000'100'000), 21'000, 1, 1}));
    std::vector<uint8_t> compound(writer.written().begin(), writer.written().end());
    publisher->on_rtcp(compound, now_us);
    ASSERT_TRUE(lane.clock(0).exact);
    ASSERT_TRUE(lane.clock(1).exact);
    EXPECT_NEAR(static_cast<double>(lane.clock(1).moment(21'000) - lane.clock(0).moment(30'000)), 100'000, 10);
}

// NTP's seconds wrap in 2036.
TEST_F(PublisherTest, SenderReportsGoOnOverTheEndOfTheEra) {
    auto publisher = connected();
    constexpr int64_t kEnd = 2'085'978'496'000'000;
    int64_t first = 0;
    for (int i = 0; i < 10; ++i) {
        video(*publisher, static_cast<uint16_t>(30 * i));  // 90,000 ticks a second
        uint8_t out[200];
        rtcp::Writer writer(out);
        const int64_t us = kEnd + (i - 5) * 1'000'000;
        ASSERT_TRUE(
            writer.sender_report({kVideoSsrc, rtp::ntp_of_unix_us(us), 90'000u * static_cast<uint32_t>(i), 1, 1}));
        std::vector<uint8_t> compound(writer.written().begin(), writer.written().end());
        publisher->on_rtcp(compound, now_us);
        const int64_t moment = lane.clock(0).moment(lane.ticks(0, 90'000u * static_cast<uint32_t>(i)));
        if (i == 0) first = moment;
        EXPECT_NEAR(static_cast<double>(moment - first), i * 1e6, 10);
        now_us += 1'000'000;
    }
}

TEST_F(PublisherTest, OtherLayersAndUnknownPacketsAreNotTaken) {
    auto publisher = connected();
    video(*publisher, 10);
    put(*publisher, packet(0x9999, 102, 50, "other layer"));
    put(*publisher, packet(0x9999, 99, 50, "unknown"));
    put(*publisher, packet(kVideoSsrc, 111, 11, "wrong type"));
    EXPECT_EQ(lane_text(), "0:A ");
    EXPECT_EQ(publisher->counters().foreign, 3u);
    put(*publisher, {0x80});
}

// RFC 3550, 8.2: an encoder that restarts, or whose SSRC collided, sends with another one.
TEST_F(PublisherTest, AnotherSsrcIsFollowedWhenTheFirstIsSilent) {
    auto publisher = connected();
    video(*publisher, 10, "A");
    video(*publisher, 13, "D");
    now_us += 30'000;
    publisher->on_tick(now_us / 1000);
    EXPECT_EQ(told().nacks, (std::vector<uint16_t>{11, 12}));
    const uint64_t before = lane.ring().at(lane.ring().end() - 1).sequence;
    now_us += 100'000;
    put(*publisher, packet(0x9999, 102, 5000, "other layer"));
    EXPECT_EQ(publisher->counters().foreign, 1u);
    now_us += 200'000;
    put(*publisher, packet(0x9999, 102, 5001, "E"));
    EXPECT_EQ(lane_text(), "0:A 0:D 0:E ");
    EXPECT_EQ(lane.ring().at(lane.ring().end() - 1).sequence, before + 1);
    EXPECT_EQ(publisher->counters().ssrc_changes, 1u);
    Told all = told();
    EXPECT_EQ(all.plis, 1);
    // Packets missing from the first SSRC are no longer requested; those of the second are.
    put(*publisher, packet(0x9999, 102, 5003, "G"));
    now_us += 30'000;
    publisher->on_tick(now_us / 1000);
    EXPECT_EQ(told().nacks, (std::vector<uint16_t>{5002}));
    // RTX: retransmissions of the first SSRC are not accepted, the requested packet is.
    put(*publisher, packet(kRtxSsrc, 103, 900,
                           std::string_view("\0\x0b"
                                            "B",
                                            3)));
    EXPECT_EQ(lane.ring().packets(), 4u);
    put(*publisher, packet(0x8888, 103, 1,
                           std::string_view("\x13\x8a"
                                            "F",
                                            3)));
    EXPECT_EQ(lane_text(), "0:A 0:D 0:E 0:G 0:F ");
    // A late packet of the first SSRC is ignored, and reports are about the second.
    video(*publisher, 14, "late");
    EXPECT_EQ(lane.ring().packets(), 5u);
    now_us += 1'100'000;
    publisher->on_tick(now_us / 1000);
    all = told();
    ASSERT_EQ(all.reports.size(), 1u);
    EXPECT_EQ(all.reports[0].ssrc, 0x9999u);
    EXPECT_EQ(all.reports[0].highest_sequence, 5003u);
    EXPECT_EQ(session.ended, "");
}

TEST_F(PublisherTest, AnSsrcThatSaidGoodbyeIsFollowedByTheNextAtOnce) {
    auto publisher = connected();
    video(*publisher, 10, "A");
    uint8_t out[100];
    rtcp::Writer writer(out);
    const uint32_t ssrcs[] = {kVideoSsrc};
    ASSERT_TRUE(writer.receiver_report(kVideoSsrc) && writer.bye(ssrcs));
    std::vector<uint8_t> compound(writer.written().begin(), writer.written().end());
    publisher->on_rtcp(compound, now_us);
    put(*publisher, packet(0x9999, 102, 5000, "B"));
    EXPECT_EQ(lane_text(), "0:A 0:B ");
    // Its SSRC is still active, so the other one is another layer. Switches are also limited in frequency.
    put(*publisher, packet(0x7777, 102, 5000, "C"));
    EXPECT_EQ(lane.ring().packets(), 2u);
    compound[compound.size() - 2] = compound[compound.size() - 1] = 0x99;
    publisher->on_rtcp(compound, now_us);
    put(*publisher, packet(0x7777, 102, 5000, "C"));
    EXPECT_EQ(lane.ring().packets(), 2u);
    now_us += 300'000;
    put(*publisher, packet(0x7777, 102, 5001, "D"));
    EXPECT_EQ(lane_text(), "0:A 0:B 0:D ");
}

TEST_F(PublisherTest, AnSsrcOfTheOfferThatNeverComesIsReplaced) {
    auto publisher = connected();
    put(*publisher, packet(0x9999, 102, 5000, "A"));
    now_us += 300'000;
    put(*publisher, packet(0x9999, 102, 5001, "B"));
    EXPECT_EQ(lane_text(), "0:B ");
}

TEST_F(PublisherTest, SsrcsAreFollowedUpToABound) {
    auto publisher = connected();
    video(*publisher, 1, "A");
    for (uint32_t i = 0; i < 1000; ++i) {
        now_us += 301'000;
        put(*publisher, packet(0x10000 + i, 102, 5000, "B"));
    }
    EXPECT_EQ(publisher->counters().ssrc_changes, 32u);
    EXPECT_EQ(lane.ring().packets() + lane.ring().begin(), 33u);
    EXPECT_EQ(publisher->counters().foreign, 1000u - 32);
    // Known SSRCs may return.
    put(*publisher, packet(0x10000, 102, 5001, "C"));
    EXPECT_EQ(publisher->counters().ssrc_changes, 33u);
}

TEST_F(PublisherTest, AnotherSsrcOfTheSoundLeavesThePictureAlone) {
    auto publisher = connected();
    video(*publisher, 10, "A");
    put(*publisher, packet(kAudioSsrc, 111, 500, "s"));
    now_us += 250'000;
    video(*publisher, 11, "B");
    now_us += 60'000;
    put(*publisher, packet(0x9999, 111, 9, "t"));
    EXPECT_EQ(lane_text(), "0:A 1:s 0:B 1:t ");
    EXPECT_EQ(told().plis, 0);
}

TEST_F(PublisherTest, TheMidSaysWhoseAnSsrcIs) {
    PublishFormat format = both();
    format.tracks[1].track.payload_type = 102;  // the same for both: only the mid distinguishes them
    format.tracks[0].track.ssrc = 0;
    auto publisher = connected(format);
    const uint8_t audio_mid[1] = {'1'}, video_mid[1] = {'0'};
    put(*publisher, packet(kAudioSsrc, 102, 1, "s", {{kMidId, audio_mid}}));
    put(*publisher, packet(kVideoSsrc, 102, 1, "v", {{kMidId, video_mid}}));
    put(*publisher, packet(kAudioSsrc, 102, 2, "t"));
    EXPECT_EQ(lane_text(), "1:s 0:v 1:t ");
}

TEST_F(PublisherTest, AnotherOneMayNotHaveTheNameUnlessItTakesOver) {
    auto first = connected();
    FakeSession other;
    auto second = make(other);
    auto refused = second->prepare();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), base::Code::kBusy);
    EXPECT_EQ(session.ended, "");
    config::Vhost takes_over = *vhost;
    takes_over.publish.takeover = true;
    vhost = &takes_over;
    auto third = make(other);
    ASSERT_TRUE(runtime::testing::ok(third->prepare()));
    EXPECT_EQ(session.ended, "") << "an offer alone replaces nobody";
    third->on_connected(now_us / 1000);
    EXPECT_EQ(session.reason, base::CloseReason::kPublisherReplaced);
    // Late packets of the first publisher are ignored.
    video(*first, 99, "late");
    first->on_tick(now_us / 1000 + 5000);
    first->on_closed();
    EXPECT_TRUE(stream->published());
    EXPECT_EQ(lane.ring().packets(), 0u);
    third.reset();
    EXPECT_FALSE(stream->published());
}

TEST_F(PublisherTest, AStandbyLeavesTheLaneAloneUntilItTakesOverAtAKeyframe) {
    config::Vhost with_standby = *vhost;
    with_standby.publish.standby = config::StandbyMode::kOn;
    vhost = &with_standby;
    auto first = connected();
    FakeSession other;
    auto second = make(other);
    ASSERT_TRUE(runtime::testing::ok(second->prepare()));
    second->on_connected(now_us / 1000);
    EXPECT_EQ(other.ended, "");
    video(*first, 10, "A");
    video(*second, 50, "eK");  // an IDR picture
    // It continues with another SSRC, and reports its clock.
    now_us += 1'000'000;
    const auto changed = [&](uint16_t sequence, std::string_view payload) {
        put(*second, packet(kVideoSsrc + 9, 102, sequence, payload));
    };
    changed(7, "B");
    EXPECT_EQ(second->counters().ssrc_changes, 1u);
    std::vector<uint8_t> report(100);
    rtcp::Writer writer(report);
    ASSERT_TRUE(writer.sender_report({kVideoSsrc + 9, rtp::ntp_of_unix_us(5'000'000'000), 21'000, 1, 1}));
    report.resize(writer.size());
    second->on_rtcp(report, now_us);
    for (int i = 0; i < 3; ++i) second->on_tick(now_us / 1000 + i * 1000);
    EXPECT_EQ(lane_text(), "0:A ") << "of the active publisher alone";
    EXPECT_EQ(lane.counters().restarts, 0u);
    EXPECT_FALSE(lane.clock(0).exact);
    first.reset();
    EXPECT_FALSE(stream->published());
    changed(8, "B");
    EXPECT_FALSE(stream->published());
    changed(9, "eL");
    EXPECT_TRUE(stream->published());
    changed(10, "C");
    EXPECT_EQ(lane_text(), "0:eL 0:C ");
    EXPECT_TRUE(lane.published_by_rtp());
    EXPECT_EQ(other.ended, "");
    second.reset();
    EXPECT_FALSE(stream->published());
    EXPECT_EQ(stream->standby(), nullptr);
}

TEST_F(PublisherTest, OfTwoOffersTheFirstToConnectHasTheName) {
    FakeSession early, late;
    auto first = make(early), second = make(late);
    ASSERT_TRUE(runtime::testing::ok(first->prepare()));
    ASSERT_TRUE(runtime::testing::ok(second->prepare()));
    EXPECT_FALSE(stream->published());
    second->on_connected(now_us / 1000);
    EXPECT_TRUE(stream->published());
    EXPECT_EQ(late.net_session.stream_account()->publisher(), &late.net_session);
    first->on_connected(now_us / 1000);
    EXPECT_EQ(early.reason, base::CloseReason::kRefusedBusy);
    EXPECT_NE(early.ended.find("after the offer"), std::string::npos) << early.ended;
    EXPECT_EQ(late.ended, "");
    // Packets of the losing publisher are ignored, and its end does not end the publication.
    put(*first, packet(kVideoSsrc, 102, 1, "A"));
    first->on_tick(now_us / 1000 + 100);
    first->on_closed();
    first.reset();
    EXPECT_EQ(lane.ring().packets(), 0u);
    EXPECT_TRUE(stream->published());
    second.reset();
}

TEST_F(PublisherTest, SilenceEndsIt) {
    auto publisher = connected();
    publisher->on_tick(now_us / 1000 + vhost->publish.firstpkt_timeout - 1000);
    EXPECT_EQ(session.ended, "");
    publisher->on_tick(now_us / 1000 + vhost->publish.firstpkt_timeout + 1);
    EXPECT_EQ(session.reason, base::CloseReason::kPeerTimeout);
    EXPECT_NE(session.ended.find("firstpkt_timeout"), std::string::npos);
}

TEST_F(PublisherTest, SilenceInTheMiddleEndsItToo) {
    auto publisher = connected();
    video(*publisher, 1);
    publisher->on_tick(now_us / 1000 + vhost->publish.normal_timeout - 1000);
    EXPECT_EQ(session.ended, "");
    publisher->on_tick(now_us / 1000 + vhost->publish.normal_timeout + 1);
    EXPECT_NE(session.ended.find("normal_timeout"), std::string::npos);
}

TEST_F(PublisherTest, DropsAPayloadTypeWhereItIsToldTo) {
    config::Vhost drops = *vhost;
    drops.get<VhostConfig>().drop_for_pt = 111;
    vhost = &drops;
    auto publisher = connected();
    video(*publisher, 1, "A");
    put(*publisher, packet(kAudioSsrc, 111, 1, "s"));
    EXPECT_EQ(lane_text(), "0:A ");
    EXPECT_EQ(publisher->counters().dropped_for_pt, 1u);
}

TEST_F(PublisherTest, ThePictureIsKnownFromTheOffer) {
    PublishFormat format = both();
    format.tracks[0].track.sprop = "sprop-parameter-sets=Z0LAHtiQKAv+XARAAAADAEAAAAyDxYuJgA==,aMiIyyA=";
    auto publisher = connected(format);
    EXPECT_EQ(stream->rtp_lane().video_info().width, 640);
    EXPECT_EQ(stream->rtp_lane().video_info().height, 360);
}

TEST_F(PublisherTest, TheNameIsFreeWhenItIsClosed) {
    auto publisher = connected();
    publisher->on_closed();
    EXPECT_FALSE(stream->published());
}

TEST(PictureInfo, OfH264) {
    const auto sps = base::hex("67640020acd940c029b011000003000100000300320f183196");
    auto info = video_info(media::Codec::kH264, sps);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->profile, "High");
    EXPECT_EQ(info->level, "3.2");
    EXPECT_EQ(info->width, 768);
    EXPECT_EQ(info->height, 320);
    // In an aggregation packet, after another unit.
    std::vector<uint8_t> stap = {0x78, 0, 2, 9, 0xf0, 0, static_cast<uint8_t>(sps.size())};
    stap.insert(stap.end(), sps.begin(), sps.end());
    info = video_info(media::Codec::kH264, stap);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->width, 768);
    // Truncated at any position: no failure.
    for (size_t n = 0; n < stap.size(); ++n) (void)video_info(media::Codec::kH264, std::span(stap).first(n));
    EXPECT_FALSE(video_info(media::Codec::kH264, base::hex("61e0")));
}

TEST(PictureInfo, OfVp8) {
    const auto key = base::hex("90 80 05 10 02 00 9d012a 8002 e001");
    auto info = video_info(media::Codec::kVp8, key);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->width, 640);
    EXPECT_EQ(info->height, 480);
    EXPECT_FALSE(video_info(media::Codec::kVp8, base::hex("80 80 05 10 02 00 9d012a 8002 e001")));
    for (size_t n = 0; n < key.size(); ++n) EXPECT_FALSE(video_info(media::Codec::kVp8, std::span(key).first(n)));
}

TEST(PictureInfo, OfVp9) {
    // Flexible mode with a scalability structure, followed by a key frame of profile 0, 352 by 288.
    const auto key = base::hex("9a 85 18 18 0160 0120 01 04 02 82498342 0015f011f0");
    auto info = video_info(media::Codec::kVp9, key);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->width, 352);
    EXPECT_EQ(info->height, 288);
    for (size_t n = 0; n < key.size(); ++n) (void)video_info(media::Codec::kVp9, std::span(key).first(n));
}

TEST(PictureInfo, AnythingIsSurvived) {
    std::vector<uint8_t> bytes(64);
    uint32_t state = 1;
    for (int i = 0; i < 20'000; ++i) {
        for (uint8_t& byte : bytes) byte = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
        for (media::Codec codec : {media::Codec::kH264, media::Codec::kHevc, media::Codec::kVp8, media::Codec::kVp9,
                                   media::Codec::kAv1, media::Codec::kOpus})
            (void)video_info(codec, std::span(bytes).first(state >> 8 & 63));
    }
}

}  // namespace
}  // namespace service::rtc
