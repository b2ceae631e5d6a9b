// Players of a stream whose publisher sends layers of simulcast.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "live/rtp/rtp_layers.h"
#include "protocol/rtcp/parser.h"
#include "runtime/loop/simulated_time_testing.h"
#include "service/rtc/play/player_testing.h"

namespace service::rtc {
namespace {

using testing::FakeSession;
using testing::kAudio;
using testing::kAudioSsrc;
using testing::KeyframeCounter;
using testing::kRtxSsrc;
using testing::kVideo;
using testing::kVideoSsrc;
using testing::PlayerFixture;

// Its lane carries layer f; q, h and f are of 100, 400 and 1,600 kbit/s.
class PlayerLayersTest : public PlayerFixture {
  protected:
    PlayerLayersTest() { publish(); }
    ~PlayerLayersTest() { player.reset(); }

    void publish() {
        lane.set_tracks({kVideo, kAudio});
        const std::string rids[] = {"q", "h", "f"};
        lane.set_layers(rids);
        int side = 90;
        uint32_t kbps = 100;
        for (live::RtpLayer& layer : lane.layers()->all()) {
            layer.width = 16 * side / 9;
            layer.height = side;
            layer.kbps = kbps;
            layer.is_sent = true;
            layer.lane->set_keyframe_source(&sources[side]);
            side *= 2;
            kbps *= 4;
        }
        lane.layers()->set_carried(2);
        lane.set_keyframe_source(&stream_source);
    }
    live::RtpLayer& layer(size_t index) { return lane.layers()->all()[index]; }
    void view(LayerWish wish) { player = make_player(session, true, std::move(wish)); }
    // 40 ms pass: a frame of each layer, which the lane has of f, and a packet of audio. Each layer has timestamps of
    // its own. Returns what the player was sent, such as "a1 q7 ": the kind or layer, and the frame.
    std::string frame(bool keyframe = false) {
        ++frames;
        time.pass_ms(30);
        const int64_t now_us = runtime::now_us();
        const auto append = [&](const std::string& text, auto&& to) {
            to(live::RtpHead{static_cast<uint16_t>(frames), 0, true, keyframe},
               std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
        };
        const std::string number = std::to_string(frames);
        for (size_t i = 0; i < 3; ++i) {
            if (!layer(i).is_sent) continue;
            append(layer(i).rid + number, [&](live::RtpHead head, auto payload) {
                head.timestamp = static_cast<uint32_t>(1'000'000'000 * i) + frames * 3600;
                head.sequence = static_cast<uint16_t>(head.sequence + 20'000 * i);
                lane.layers()->append(i, head, payload, now_us);
                layer(i).lane->set_clock(0, int64_t{frames} * 40'000, head.timestamp);
                if (lane.layers()->carried() != &layer(i)) return;
                lane.append(0, head, payload, now_us);
                lane.set_clock(0, int64_t{frames} * 40'000, head.timestamp);
            });
        }
        append("a" + number, [&](live::RtpHead head, auto payload) {
            head.timestamp = frames * 1920;
            head.keyframe = false;
            lane.append(1, head, payload, now_us);
        });
        time.pass_ms(10);
        return sorted(got());
    }
    // Lanes are sent in any order.
    static std::string sorted(const std::string& text) {
        std::istringstream in(text);
        std::multiset<std::string> words{std::istream_iterator<std::string>(in), {}};
        std::string out;
        for (const std::string& word : words) out += word + " ";
        return out;
    }
    // Also checks that each track's numbers are without a hole and the video's times go on.
    std::string got() {
        std::string text;
        for (; read < session.sent.size(); ++read) {
            const auto view = rtp::PacketView::parse(session.sent[read].bytes);
            EXPECT_TRUE(view);
            if (view->ssrc() == kRtxSsrc) {
                text += "rtx:" + std::string(rtp::text_value(view->payload().subspan(2))) + " ";
                continue;
            }
            auto& before = newest[view->ssrc()];
            if (before) {
                EXPECT_EQ(view->sequence(), static_cast<uint16_t>(before->sequence + 1));
                EXPECT_GT(static_cast<int32_t>(view->timestamp() - before->timestamp), 0);
                EXPECT_LE(view->timestamp() - before->timestamp, 90'000u);
            }
            before = view->header();
            text += std::string(rtp::text_value(view->payload())) + " ";
        }
        return text;
    }
    void nack(const std::vector<uint16_t>& lost, int64_t later_ms) {
        uint8_t out[200];
        rtcp::Writer writer(out);
        ASSERT_EQ(writer.nack(9, kVideoSsrc, lost), lost.size());
        std::vector<uint8_t> bytes(writer.written().begin(), writer.written().end());
        player->on_rtcp(bytes, runtime::now_us() + later_ms * 1000);
    }
    // The newest report of the player is answered, after such a round trip.
    void answer(int64_t round_trip_ms) {
        if (session.rtcp.empty()) return;
        struct Reader final : rtcp::Visitor {
            uint64_t ntp = 0;
            void on_sender_report(const rtcp::SenderReport& report) override { ntp = report.ntp; }
        } reader;
        (void)rtcp::parse(session.rtcp.back(), reader);
        const uint32_t sent = rtp::compact_ntp(reader.ntp);
        const uint32_t back = rtp::compact_ntp(rtp::ntp_of_unix_us((base::wall_ms() - round_trip_ms) * 1000));
        const rtcp::ReportBlock block{.ssrc = kVideoSsrc, .last_sr = sent, .delay_since_sr = back - sent};
        uint8_t out[100];
        rtcp::Writer writer(out);
        ASSERT_TRUE(writer.receiver_report(9, std::span(&block, 1)));
        std::vector<uint8_t> bytes(writer.written().begin(), writer.written().end());
        player->on_rtcp(bytes, runtime::now_us());
    }
    // The link takes so many kbit/s: the estimate falls again and again.
    void shorten(uint64_t kbps) {
        session.counts.bytes_sent += 1'000'000;
        for (const uint64_t remb : {uint64_t{9'000}, 4 * kbps / 3, 6 * kbps / 5, kbps}) estimate(remb);
    }
    void estimate(uint64_t kbps) {
        time.pass_ms(310);
        session.counts.bytes_sent += 80'000;  // 2,000 kbit/s
        uint8_t out[100];
        rtcp::Writer writer(out);
        const uint32_t ssrc = kVideoSsrc;
        ASSERT_TRUE(writer.remb(9, kbps * 1000, std::span(&ssrc, 1)));
        std::vector<uint8_t> bytes(writer.written().begin(), writer.written().end());
        player->on_rtcp(bytes, runtime::now_us());
    }

    runtime::testing::SimulatedTime time;
    FakeSession session;
    std::map<int, KeyframeCounter> sources;  // by height
    KeyframeCounter stream_source;
    std::unique_ptr<Player> player;
    std::map<uint32_t, std::optional<rtp::Header>> newest;
    size_t read = 0;
    uint32_t frames = 0;
};

TEST_F(PlayerLayersTest, WithoutAWishItIsTheStreams) {
    view({});
    EXPECT_EQ(frame(true), "a1 f1 ");
    EXPECT_EQ(frame(), "a2 f2 ");
    EXPECT_EQ(layer(0).lane->ring().packets(), 0u) << "a layer that nobody reads keeps nothing";
}

TEST_F(PlayerLayersTest, AWishIsGrantedFromTheFirstKeyframeOn) {
    view({.rid = "q"});
    EXPECT_EQ(sources[90].asked, 1);
    EXPECT_EQ(frame(), "a1 ");
    EXPECT_EQ(frame(true), "a2 q2 ");
    EXPECT_EQ(frame(), "a3 q3 ");
    EXPECT_EQ(lane.players(), 1u);
    EXPECT_EQ(stream->viewer_count(), 1u);
    // Its requests and losses are those of the layer.
    nack({static_cast<uint16_t>(newest[kVideoSsrc]->sequence)}, 500);
    EXPECT_EQ(got(), "rtx:q3 ");
}

TEST_F(PlayerLayersTest, AHeightIsALimit) {
    view({.max_height = 200});
    EXPECT_EQ(frame(true), "a1 h1 ") << "from the beginning";
    layer(1).is_sent = false;
    player->on_tick(runtime::now_ms());
    EXPECT_EQ(frame(), "a2 ");
    EXPECT_EQ(frame(true), "a3 q3 ");
    layer(1).is_sent = true;
    player->on_tick(runtime::now_ms());
    EXPECT_EQ(frame(true), "a4 q4 ") << "not at once";
    player->on_tick(runtime::now_ms() + 5000);
    EXPECT_EQ(frame(), "a5 q5 ") << "until the keyframe";
    EXPECT_NE(frame(true).find("h6 "), std::string::npos);
    EXPECT_EQ(frame(), "a7 h7 ");
}

TEST_F(PlayerLayersTest, AWishForTheLargestOrForNoneIsTheStream) {
    view({.max_height = 360});
    EXPECT_EQ(frame(true), "a1 f1 ");
    player.reset();
    newest.clear();
    session.index_check = {};
    view({.rid = "x"});
    EXPECT_EQ(frame(true), "a2 f1 f2 ") << "from the keyframe that is there on";
    EXPECT_EQ(layer(2).lane->sinks(), 0u);
}

TEST_F(PlayerLayersTest, AShortLinkGetsTheLayerThatFits) {
    view({});
    EXPECT_EQ(frame(true), "a1 f1 ");
    shorten(600);
    EXPECT_EQ(layer(1).lane->sinks(), 1u) << "400 kbit/s and audio";
    EXPECT_EQ(layer(0).lane->sinks(), 0u);
    EXPECT_EQ(sources[180].asked, 1);
    EXPECT_EQ(frame().substr(0, 3), "a2 ") << "of the video what fits";
    EXPECT_EQ(frame(true), "a3 h3 ") << "the stream's keyframe is not for a link that takes less";
    EXPECT_EQ(frame(), "a4 h4 ");
    EXPECT_EQ(player->quality().viewing->sent, net::RtcSent::kLayer);
    EXPECT_EQ(player->quality().viewing->layer, "h");
    EXPECT_EQ(rtc_stats().on_layer, 1u);
    // The estimate rises without a queue, until the stream fits.
    std::string seen;
    for (int i = 0; i < 750; ++i) {
        if (i % 12 == 0) player->on_tick(runtime::now_ms());
        seen += frame(i % 25 == 0);
    }
    EXPECT_LT(seen.find("rtx:h"), seen.find(" f")) << "the link is probed before: " << seen;
    EXPECT_NE(seen.find(" f"), seen.npos) << seen;
    EXPECT_NE(frame().find(" f"), std::string::npos);
    EXPECT_EQ(layer(1).lane->sinks(), 0u);
    EXPECT_EQ(player->quality().viewing->sent, net::RtcSent::kAll);
    EXPECT_EQ(rtc_stats().on_layer, 0u);
}

// Found by fuzzing: it was to be sent nothing of that layer any more when its first keyframe came.
TEST_F(PlayerLayersTest, ALayerMayBeginWhenTheStreamsIsWantedAgain) {
    view({.rid = "q"});
    EXPECT_EQ(frame(), "a1 ");
    layer(0).is_sent = false;
    player->on_tick(runtime::now_ms());
    layer(0).is_sent = true;
    layer(1).is_sent = layer(2).is_sent = false;
    EXPECT_EQ(frame(true), "a2 q2 ");
    EXPECT_EQ(player->quality().viewing->layer, "q");
    layer(0).is_sent = false;
    layer(2).is_sent = true;
    EXPECT_EQ(frame(true), "a3 f3 ");
    EXPECT_EQ(player->quality().viewing->sent, net::RtcSent::kAll);
}

TEST_F(PlayerLayersTest, TheStreamsVideoIsNotSentAheadOfALayerThatFits) {
    view({});
    EXPECT_EQ(frame(true), "a1 f1 ");
    session.counts.bytes_sent += 1'000'000;
    estimate(9'000);
    estimate(600);
    EXPECT_EQ(layer(1).lane->sinks(), 1u) << "at the first fall";
    EXPECT_EQ(frame(), "a2 ");
    EXPECT_EQ(frame(), "a3 ");
    std::string seen;
    for (int i = 0; i < 8; ++i) seen += frame();
    EXPECT_NE(seen.find(" f"), seen.npos) << "the layer's publisher makes no keyframe: " << seen;
    EXPECT_NE(frame(true).find("h12 "), std::string::npos);
}

// The queue of the link is full of the larger layer.
TEST_F(PlayerLayersTest, ALayerForAShortLinkIsPacedAtFirst) {
    view({});
    EXPECT_EQ(frame(true), "a1 f1 ");
    shorten(600);
    // Its keyframe: 20 packets of 1,000 bytes, 320 ms at 500 kbit/s.
    const std::vector<uint8_t> large(1'000, 'k');
    for (uint16_t i = 0; i < 20; ++i)
        lane.layers()->append(1, {static_cast<uint16_t>(30'000 + i), 2'000'000'000, i == 19, true}, large,
                              runtime::now_us());
    const size_t before = session.packets;
    time.pass_ms(60);
    EXPECT_LE(session.packets - before, 5u);
    EXPECT_GE(session.packets - before, 3u);
    // What is requested again is part of it, ahead by 100 ms at most.
    const auto first = static_cast<uint16_t>(rtp::PacketView::parse(session.sent.back().bytes)->sequence() -
                                             (session.packets - before) + 1);
    const std::vector<uint16_t> lost{first, static_cast<uint16_t>(first + 1), static_cast<uint16_t>(first + 2)};
    for (int i = 0; i < 6; ++i) nack(lost, i * 400);
    EXPECT_GE(player->counters().retransmitted, 5u);
    EXPECT_LE(player->counters().retransmitted, 8u);
    EXPECT_GT(player->counters().nacks_refused, 0u);
    time.pass_ms(500);
    EXPECT_EQ(session.packets - before, 20 + player->counters().retransmitted) << "and nothing is lost";
    // It ends with the queue.
    time.pass_ms(1'000);
    for (uint16_t i = 20; i < 30; ++i)
        lane.layers()->append(1, {static_cast<uint16_t>(30'000 + i), 2'000'007'200, i == 29, false}, large,
                              runtime::now_us());
    const size_t later = session.packets;
    time.pass_ms(6);
    EXPECT_EQ(session.packets - later, 10u);
}

// A link that takes the layer and no more: the probe ends with its first pulse, and what it leaves in the queue does
// not take the layer away. The next one is later.
TEST_F(PlayerLayersTest, AProbeThatFailsChangesNothing) {
    view({});
    EXPECT_EQ(frame(true), "a1 f1 ");
    shorten(600);
    (void)frame(true);
    std::vector<int64_t> probes_ms;
    bool probed = false;
    for (int i = 0; i < 1'000; ++i) {
        if (i % 12 == 0) player->on_tick(runtime::now_ms());
        const std::string sent = frame(i % 25 == 0);
        const bool probes = sent.find("rtx:") != std::string::npos;
        if (probes && !probed) probes_ms.push_back(runtime::now_ms());
        probed = probes;
        answer(probes ? 160 : 20);
        ASSERT_EQ(sent.find(" f"), sent.npos) << i;
        ASSERT_EQ(player->quality().viewing->layer, "h") << i;
    }
    ASSERT_GE(probes_ms.size(), 3u);
    EXPECT_LE(probes_ms.size(), 6u);
    EXPECT_GE(probes_ms[1] - probes_ms[0], 6'000);
    EXPECT_GE(probes_ms[2] - probes_ms[1], 9'000);
}

TEST_F(PlayerLayersTest, WhereNoLayerFitsTheStreamIsMeasuredOut) {
    view({});
    EXPECT_EQ(frame(true), "a1 f1 ");
    shorten(80);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(layer(i).lane->sinks(), 0u);
}

// The largest layer pauses: the stream carries another one, and so does who was sent less.
TEST_F(PlayerLayersTest, AnotherPublisherHasOtherLayers) {
    view({.rid = "q"});
    EXPECT_EQ(frame(true), "a1 q1 ");
    publish();
    EXPECT_EQ(frame(), "a2 ");
    player->on_tick(runtime::now_ms());
    (void)frame(true);
    player->on_tick(runtime::now_ms() + 5000);
    (void)frame(true);
    EXPECT_EQ(frame(), "a5 q5 ");
    EXPECT_EQ(layer(0).lane->sinks(), 1u);
    lane.set_tracks({kVideo, kAudio});
    EXPECT_EQ(lane.layers(), nullptr);
}

// A frame has one time, whatever layer it is of; two frames never have one.
TEST_F(PlayerLayersTest, TimesAreThoseOfTheStream) {
    view({});
    EXPECT_EQ(frame(true), "a1 f1 ");
    const uint32_t first = newest[kVideoSsrc]->timestamp;
    shorten(600);
    (void)frame();
    EXPECT_NE(frame(true).find("h3 "), std::string::npos);
    EXPECT_EQ(frame(), "a4 h4 ");
    EXPECT_LE(newest[kVideoSsrc]->timestamp - (first + 3 * 3600), 900u);
}

}  // namespace
}  // namespace service::rtc
