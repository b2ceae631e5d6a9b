#pragma once
// A client that sends layers of simulcast to a Publisher, for tests: SentLayer, PublisherLayersTest.

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "protocol/rtcp/parser.h"
#include "protocol/rtcp/writer.h"
#include "protocol/rtp/ntp.h"
#include "runtime/loop/testing.h"
#include "service/rtc/config.h"
#include "service/rtc/media_testing.h"
#include "service/rtc/publish/publisher.h"

namespace service::rtc::testing {

inline constexpr uint8_t kRidId = 3, kRepairedRidId = 4, kVideoType = 96, kRtxType = 97, kAudioType = 111;

// What was requested of the publisher, by SSRC.
struct Requests : rtcp::Visitor {
    std::multiset<uint32_t> plis;
    std::multiset<std::pair<uint32_t, uint16_t>> nacks;
    std::set<uint32_t> reported;
    void on_report_block(uint32_t, const rtcp::ReportBlock& block) override { reported.insert(block.ssrc); }
    void on_pli(uint32_t, uint32_t media) override { plis.insert(media); }
    void on_nack(uint32_t, uint32_t media, rtcp::LostSequences lost) override {
        lost.for_each([&](uint16_t sequence) { nacks.emplace(media, sequence); });
    }
};

// A client that sends VP8: frames of one packet each 40 ms, in each layer that is on.
struct SentLayer {
    std::string rid;
    uint32_t ssrc;
    uint16_t width, height;
    uint16_t sequence;
    uint32_t first_timestamp;
    bool on = true;
    bool wants_keyframe = true;
};

class PublisherLayersTest : public runtime::testing::RuntimeTest {
  protected:
    void connect() {
        PublishFormat format;
        format.rid_id = kRidId;
        format.repaired_rid_id = kRepairedRidId;
        for (const SentLayer& layer : layers)
            format.tracks.push_back(
                {.track = {.kind = media::Kind::kVideo, .codec = media::Codec::kVp8, .payload_type = kVideoType},
                 .rtx_payload_type = kRtxType,
                 .nack = true,
                 .pli = true,
                 .mid = "0",
                 .rid = layer.rid});
        format.tracks.push_back({.track = {.kind = media::Kind::kAudio,
                                           .codec = media::Codec::kOpus,
                                           .clock_rate = 48'000,
                                           .channels = 2,
                                           .payload_type = kAudioType},
                                 .mid = "1"});
        MediaParts parts{session, registry, codec_log, stream->key(), snapshot, *vhost, {}, {}, {}};
        publisher = std::make_unique<Publisher>(std::move(parts), stream, format, 77);
        ASSERT_TRUE(runtime::testing::ok(publisher->prepare()));
        publisher->on_connected(now_us / 1000);
        ASSERT_EQ(session.ended, "");
        next_tick_us = now_us;
    }
    SentLayer& layer(std::string_view rid) { return *std::ranges::find(layers, rid, &SentLayer::rid); }

    static std::vector<uint8_t> payload(const SentLayer& layer, bool keyframe) {
        std::vector<uint8_t> out{0x90, 0x80, 5, static_cast<uint8_t>(keyframe ? 0x10 : 0x11), 2, 0, 0x9d, 1, 0x2a};
        for (const uint16_t side : {layer.width, layer.height}) {
            out.push_back(static_cast<uint8_t>(side));
            out.push_back(static_cast<uint8_t>(side >> 8));
        }
        return out;
    }
    static std::vector<uint8_t> packet(const rtp::Header& header, std::span<const uint8_t> payload, uint8_t id = 0,
                                       std::string_view rid = {}) {
        std::vector<rtp::Extension> extensions;
        if (id != 0) extensions.push_back({id, {reinterpret_cast<const uint8_t*>(rid.data()), rid.size()}});
        std::vector<uint8_t> out(rtp::written_header_size(extensions));
        rtp::write_header(out.data(), header, extensions);
        out.insert(out.end(), payload.begin(), payload.end());
        return out;
    }
    void put(std::vector<uint8_t> bytes) { publisher->on_rtp(bytes, now_us); }
    uint32_t timestamp(const SentLayer& layer) const {
        return layer.first_timestamp + static_cast<uint32_t>((now_us - began_us) * 9 / 100);
    }
    void send(SentLayer& layer, bool names = true) {
        const bool keyframe = std::exchange(layer.wants_keyframe, false);
        put(packet({true, kVideoType, layer.sequence++, timestamp(layer), layer.ssrc}, payload(layer, keyframe),
                   names ? kRidId : uint8_t{0}, layer.rid));
    }
    // Time passes, the layers that are on send, and keyframes are made where they are requested.
    void run(int64_t ms) {
        for (const int64_t end_us = now_us + ms * 1000; now_us < end_us; now_us += 40'000) {
            for (SentLayer& layer : layers)
                if (layer.on) send(layer);
            put(packet({false, kAudioType, audio_sequence++, 48u * static_cast<uint32_t>(now_us / 1000), kAudioSsrc},
                       std::vector<uint8_t>{1, 2, 3}));
            if (now_us < next_tick_us) continue;
            next_tick_us = now_us + 100'000;
            publisher->on_tick(now_us / 1000);
            const Requests got = requests();
            for (SentLayer& layer : layers) layer.wants_keyframe |= layer.on && got.plis.contains(layer.ssrc);
        }
    }
    Requests requests() {
        Requests all;
        for (const auto& bytes : session.rtcp) EXPECT_TRUE(rtcp::parse(bytes, all).framed);
        session.rtcp.clear();
        return all;
    }
    void report(const SentLayer& layer) {
        std::vector<uint8_t> bytes(100);
        rtcp::Writer writer(bytes);
        ASSERT_TRUE(
            writer.sender_report({layer.ssrc, rtp::ntp_of_unix_us(5'000'000'000 + now_us), timestamp(layer), 1, 1}));
        bytes.resize(writer.size());
        publisher->on_rtcp(bytes, now_us);
    }
    // The numbers of the lane's video continue without a hole, and its times do not go back. Returns how many packets.
    size_t check_lane() {
        size_t count = 0;
        const live::RtpPacket* before = nullptr;
        for (uint64_t i = lane.ring().begin(); i < lane.ring().end(); ++i) {
            const live::RtpPacket& one = lane.ring().at(i);
            if (one.track != 0) continue;
            if (before) {
                EXPECT_EQ(one.sequence, before->sequence + 1);
                EXPECT_GT(static_cast<int32_t>(one.timestamp - before->timestamp), 0);
                EXPECT_LE(one.timestamp - before->timestamp, 2u * 90'000);
            }
            before = &one;
            ++count;
        }
        return count;
    }

    config::SnapshotPtr snapshot = config::default_snapshot();
    const config::Vhost* vhost = snapshot->vhost("v");
    live::Registry registry;
    runtime::LogLimit codec_log;
    base::Ref<live::Stream> stream =
        base::make_ref<live::Stream>(nullptr, live::StreamKey{"v", "live", "s"}, live::LiveOptions{});
    live::RtpLane& lane = stream->rtp_lane();
    FakeSession session;
    const int64_t began_us = base::monotonic_us();
    int64_t now_us = began_us;
    int64_t next_tick_us = 0;
    uint16_t audio_sequence = 1;
    std::vector<SentLayer> layers{{"q", 100, 320, 180, 10, 1'000'000},
                                  {"h", 200, 640, 360, 30'000, 4'000'000'000},
                                  {"f", 300, 1280, 720, 65'500, 77}};
    std::unique_ptr<Publisher> publisher;
};

}  // namespace service::rtc::testing
