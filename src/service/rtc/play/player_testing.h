#pragma once
// Players for tests: of a stream with a lane of video and audio, whose sessions record what they are given to send.

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "protocol/rtcp/writer.h"
#include "protocol/rtp/extensions.h"
#include "protocol/rtp/ntp.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/testing.h"
#include "service/rtc/media_testing.h"
#include "service/rtc/play/player.h"

namespace service::rtc::testing {

inline const live::RtpTrack kVideo{.kind = media::Kind::kVideo, .codec = media::Codec::kH264};
inline const live::RtpTrack kAudio{.kind = media::Kind::kAudio, .codec = media::Codec::kOpus, .clock_rate = 48'000};

struct KeyframeCounter : live::KeyframeSource {
    int asked = 0;
    void make_keyframe() override { ++asked; }
};

// A player with its session, and the feedback of its client.
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

// A stream whose lane has video and audio.
class PlayerFixture : public runtime::testing::RuntimeTest {
  protected:
    PlayerFixture() { lane.set_tracks({kVideo, kAudio}); }
    // Connected. It must be destroyed before the session.
    std::unique_ptr<Player> make_player(FakeSession& session, bool rtx, LayerWish wish = {}) {
        MediaParts parts{session, registry, codec_log, stream->key(), snapshot, *snapshot->vhost("v"), {}, {}, {}};
        parts.layer = std::move(wish);
        const SendFormat video{.kind = media::Kind::kVideo,
                               .codec = media::Codec::kH264,
                               .ssrc = kVideoSsrc,
                               .rtx_ssrc = kRtxSsrc,
                               .payload_type = 102,
                               .rtx_payload_type = rtx ? uint8_t{103} : kNoPayloadType,
                               .nack = true};
        const SendFormat audio{.kind = media::Kind::kAudio,
                               .codec = media::Codec::kOpus,
                               .ssrc = kAudioSsrc,
                               .payload_type = 111,
                               .red_payload_type = 63};
        auto player = std::make_unique<Player>(std::move(parts), stream, std::vector{audio, video}, 1000);
        player->on_connected(runtime::now_ms());
        return player;
    }

    config::SnapshotPtr snapshot = config::default_snapshot();
    live::Registry registry;
    runtime::LogLimit codec_log;
    base::Ref<live::Stream> stream =
        base::make_ref<live::Stream>(nullptr, live::StreamKey{"v", "live", "s"}, live::LiveOptions{});
    live::RtpLane& lane = stream->rtp_lane();
};

class PlayerTest : public PlayerFixture {
  protected:
    std::unique_ptr<Viewer> view(bool rtx = false) {
        auto viewer = std::make_unique<Viewer>();
        viewer->player = make_player(viewer->session, rtx);
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

    int64_t now_us = base::monotonic_us();
    std::map<size_t, uint16_t> next_{{0, 5}, {1, 9}};
};

}  // namespace service::rtc::testing
