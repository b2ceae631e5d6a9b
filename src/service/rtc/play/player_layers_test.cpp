// Players of a stream whose publisher sends layers of simulcast.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "live/rtp/rtp_layers.h"
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
    // The link takes so many kbit/s: the estimate falls again and again.
    void shorten(uint64_t kbps) {
        session.counts.bytes_sent += 1'000'000;
        for (const uint64_t remb : {uint64_t{9'000}, 4 * kbps / 3, 6 * kbps / 5, kbps}) {
            time.pass_ms(310);
            session.counts.bytes_sent += 80'000;  // 2,000 kbit/s
            uint8_t out[100];
            rtcp::Writer writer(out);
            const uint32_t ssrc = kVideoSsrc;
            ASSERT_TRUE(writer.remb(9, remb * 1000, std::span(&ssrc, 1)));
            std::vector<uint8_t> bytes(writer.written().begin(), writer.written().end());
            player->on_rtcp(bytes, runtime::now_us());
        }
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
    uint8_t out[200];
    rtcp::Writer writer(out);
    const uint16_t lost[] = {static_cast<uint16_t>(newest[kVideoSsrc]->sequence)};
    ASSERT_EQ(writer.nack(9, kVideoSsrc, lost), 1u);
    std::vector<uint8_t> bytes(writer.written().begin(), writer.written().end());
    player->on_rtcp(bytes, runtime::now_us() + 500'000);
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
