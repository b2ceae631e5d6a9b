#include <algorithm>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/hex_testing.h"
#include "convert/audio/converting_testing.h"
#include "convert/rtp/from_rtp.h"
#include "convert/rtp/to_rtp.h"
#include "live/hub/registry.h"
#include "media/h264.h"
#include "media/nalu.h"
#include "protocol/rtp/payload/packetize_testing.h"
#include "runtime/loop/testing.h"

namespace convert {
namespace {

runtime::LogLimit unplayable_log;

using live::RtpLane;
using media::Codec;
using media::Frame;
using media::Kind;

struct Owner : live::PublicationOwner {
    bool rtp = false;
    bool publisher_alive() const override { return true; }
    bool publishes_rtp() const override { return rtp; }
    void publication_revoked(std::string_view, base::CloseReason) override {}
};

struct LaneReader : live::RtpSink {
    explicit LaneReader(RtpLane& to) : lane(to), next(to.ring().end()) { lane.join(*this, RtpLane::Wants::kPlay); }
    ~LaneReader() { lane.leave(*this, RtpLane::Wants::kPlay); }
    bool on_packets(int64_t) override { return false; }
    void prefetch_needs() const override {}
    // The packets that arrived since the last call.
    std::vector<live::RtpPacket> packets(Kind kind) {
        std::vector<live::RtpPacket> out;
        for (; next < lane.ring().end(); ++next)
            if (lane.tracks()[lane.ring().at(next).track].kind == kind) out.push_back(lane.ring().at(next));
        return out;
    }
    RtpLane& lane;
    uint64_t next;
};

struct Frames : live::FrameSink {
    void on_tracks(const base::Ref<media::TrackSet>& changed) override {
        for (const media::Track& track : changed->tracks)
            if (track.config() &&
                (!tracks || !tracks->find(track.kind) || tracks->find(track.kind)->revision != track.revision))
                frames.push_back(*track.config());
        tracks = changed;
    }
    void on_frame(const Frame& frame) override { frames.push_back(frame); }
    base::Ref<media::TrackSet> tracks;
    std::vector<Frame> of(Kind kind, bool headers = false) const {
        std::vector<Frame> out;
        for (const Frame& frame : frames)
            if (frame.kind == kind && frame.sequence_header == headers) out.push_back(frame);
        return out;
    }
    std::vector<Frame> frames;
};

// The bytes have no meaning, but begin as a slice of that type.
Frame video_frame(int64_t dts, const char* begin, size_t size = 100, int32_t cts = 0) {
    auto nalu = base::hex(begin);
    while (nalu.size() < size) nalu.push_back(static_cast<uint8_t>(nalu.size() + static_cast<size_t>(dts)));
    base::SliceBuilder payload;
    media::append_length_prefixed(payload, nalu);
    Frame frame;
    frame.kind = Kind::kVideo;
    frame.codec = Codec::kH264;
    frame.keyframe = (nalu[0] & 0x1f) == media::h264::kIdr;
    frame.dts = media::from_ms(dts);
    frame.cts = media::from_ms(cts);
    frame.payload = payload.freeze();
    return frame;
}

Frame header(Codec codec, base::Slice payload) {
    Frame frame;
    frame.kind = media::codec_info(codec).kind;
    frame.codec = codec;
    frame.sequence_header = true;
    frame.payload = std::move(payload);
    return frame;
}

constexpr const char* kIdr = "658884";
constexpr const char* kP = "419a22";
constexpr const char* kB = "019e41";

class BridgeTest : public runtime::testing::RuntimeTest {
  protected:
    struct Side {
        live::LiveOptions options{};
        base::Ref<live::Stream> stream =
            base::make_ref<live::Stream>(nullptr, live::StreamKey{"v", "live", "s"}, options);
        Owner owner{};
        live::Publication publication = std::move(*stream->acquire(owner, false));
        RtpLane& lane = stream->rtp_lane();
    };
    Frame avc_header() {
        return header(Codec::kH264,
                      *media::make_avc_config(base::hex("6742c01ed890280bfe5c0440000003004000000c83c58b8980"),
                                              base::hex("68c888cb20")));
    }
    // AAC of a second of silence, with its header first.
    std::vector<Frame> aac(int64_t from_ms) {
        AudioTranscoderOptions options;
        options.from = Codec::kPcmAlaw;
        options.from_channels = 1;
        options.to = Codec::kAac;
        auto made = AudioTranscoder::make(options);
        EXPECT_TRUE(made);
        std::vector<Frame> out{header(Codec::kAac, (*made)->header())};
        std::vector<EncodedAudio> packets;
        for (int i = 0; i < 50; ++i) (*made)->push(std::vector<uint8_t>(160, 0xd5), (from_ms + i * 20) * 1000, packets);
        for (auto& packet : packets) {
            Frame frame = header(Codec::kAac, packet.payload);
            frame.sequence_header = false;
            frame.dts = media::from_ms(std::max<int64_t>(packet.time / 48, 0));
            out.push_back(std::move(frame));
        }
        return out;
    }
    // Lets the pump of each lane run.
    void settle() { settle_converting(12); }
    // Puts the packets of one lane into the other as a WebRTC publisher would, except for the lost ones.
    void carry(LaneReader& from, Side& to, const std::vector<size_t>& lost = {}) {
        to.owner.rtp = true;
        if (to.lane.tracks().empty()) to.lane.set_tracks(from.lane.tracks());
        size_t count = 0;
        for (; from.next < from.lane.ring().end(); ++from.next) {
            const live::RtpPacket& packet = from.lane.ring().at(from.next);
            if (std::ranges::find(lost, count++) != lost.end()) continue;
            to.lane.append(packet.track,
                           {static_cast<uint16_t>(packet.sequence), packet.timestamp, packet.marker, packet.keyframe},
                           packet.payload, base::monotonic_us());
            const live::RtpClock& clock = from.lane.clock(packet.track);
            const int64_t moment = clock.moment(from.lane.ticks(packet.track, packet.timestamp));
            to.lane.set_clock(packet.track, moment, packet.timestamp);
        }
        settle();
    }

    Side source, target;
};

TEST_F(BridgeTest, FramesAreConvertedOnlyForPlayers) {
    FramesToRtp bridge(*source.stream, {}, unplayable_log);
    source.publication.publish(avc_header());
    for (Frame& frame : aac(0)) source.publication.publish(frame);
    source.publication.publish(video_frame(0, kIdr));
    ASSERT_EQ(source.lane.tracks().size(), 2u);
    EXPECT_EQ(source.lane.tracks()[0].codec, Codec::kH264);
    EXPECT_NE(source.lane.tracks()[0].fmtp.find("profile-level-id=42c01e"), std::string::npos);
    EXPECT_EQ(source.lane.tracks()[1].codec, Codec::kOpus);
    EXPECT_EQ(source.lane.tracks()[1].clock_rate, 48'000u);
    EXPECT_EQ(source.lane.tracks()[1].ptime_ms, FramesToRtpOptions{}.opus_ptime_ms);
    EXPECT_EQ(source.lane.ring().packets(), 0u);
    {
        LaneReader player(source.lane);
        EXPECT_TRUE(bridge.running());
        EXPECT_GT(source.lane.ring().packets(), 0u);
    }
    EXPECT_FALSE(bridge.running());
    EXPECT_EQ(source.lane.ring().packets(), 0u);  // no player begins with old frames
    source.publication.publish(video_frame(40, kP));
    EXPECT_EQ(source.lane.ring().packets(), 0u);
    settle();
}

// The first audio track is one that is not converted.
TEST_F(BridgeTest, TheFirstAudioTrackThatCanBeConvertedIs) {
    FramesToRtp bridge(*source.stream, {}, unplayable_log);
    LaneReader player(source.lane);
    const auto publish = [&](Frame frame, uint8_t track) {
        frame.track = track;
        source.publication.publish(frame);
    };
    Frame speex = header(Codec::kSpeex, base::Slice::copy("speex"));
    speex.sequence_header = false;
    publish(speex, 0);
    EXPECT_TRUE(source.lane.tracks().empty()) << "Speex has no track";
    publish(speex, 1);
    for (const Frame& frame : aac(0)) publish(frame, 2);
    for (const Frame& frame : aac(0)) publish(frame, 3);
    ASSERT_EQ(source.lane.tracks().size(), 1u);
    EXPECT_EQ(source.lane.tracks()[0].codec, Codec::kOpus);
    settle();
    EXPECT_GT(bridge.counters().audio_packets, 15u);
    EXPECT_LT(bridge.counters().audio_packets, 30u) << "a second of 40 ms packets, of one track alone";
    // The first track becomes one that can be converted: it is what is played from then on.
    const uint64_t before = bridge.counters().audio_packets;
    for (const Frame& frame : aac(1'000)) publish(frame, 0);
    settle();
    EXPECT_GT(bridge.counters().audio_packets, before + 15);
    for (const Frame& frame : aac(2'000)) publish(frame, 2);
    settle();
    EXPECT_LT(bridge.counters().audio_packets, before + 30) << "no more of the track that was converted before";
}

TEST_F(BridgeTest, APlayerBeginsWithACompressedGop) {
    FramesToRtp bridge(*source.stream, {}, unplayable_log);
    source.publication.publish(avc_header());
    source.publication.publish(video_frame(0, kIdr));
    for (int i = 1; i < 50; ++i) source.publication.publish(video_frame(i * 40, kP));
    LaneReader player(source.lane);
    auto packets = player.packets(Kind::kVideo);
    ASSERT_EQ(packets.size(), 50u);  // the parameter sets share the first packet
    EXPECT_TRUE(packets[0].keyframe);
    EXPECT_EQ(packets.back().timestamp - packets.front().timestamp, 49u * 40 * 90 / 32);
    for (size_t i = 1; i < packets.size(); ++i) EXPECT_GT(packets[i].timestamp, packets[i - 1].timestamp) << i;
    uint32_t last = packets.back().timestamp;
    // Reports have the newest video frame's time, which the next one follows.
    const live::RtpClock clock = source.lane.clock(0);
    EXPECT_TRUE(clock.exact);
    source.publication.publish(video_frame(2000, kP));
    EXPECT_EQ(source.lane.clock(0).version, clock.version);
    EXPECT_EQ(source.lane.clock(0).moment(last), clock.moment(last));
    packets = player.packets(Kind::kVideo);
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(packets[0].timestamp - last, 40u * 90);
}

TEST_F(BridgeTest, BFramesAreDroppedUnlessKept) {
    for (bool keep : {false, true}) {
        FramesToRtp bridge(*source.stream, {.keep_bframe = keep}, unplayable_log);
        source.publication.publish(avc_header());
        LaneReader player(source.lane);
        player.next = source.lane.ring().end();
        source.publication.publish(video_frame(0, kIdr, 100, 80));
        source.publication.publish(video_frame(40, kP, 100, 160));
        source.publication.publish(video_frame(80, kB, 100, 0));
        source.publication.publish(video_frame(120, kB, 100, 80));
        EXPECT_EQ(player.packets(Kind::kVideo).size(), keep ? 4u : 2u);
        EXPECT_EQ(bridge.counters().b_frames_dropped, keep ? 0u : 2u);
    }
    settle();
}

TEST_F(BridgeTest, AnotherSequenceHeaderBeginsWithItsOwnKeyframe) {
    FramesToRtp bridge(*source.stream, {}, unplayable_log);
    source.publication.publish(avc_header());
    source.publication.publish(video_frame(0, kIdr));
    source.publication.publish(video_frame(40, kP));
    LaneReader player(source.lane);
    EXPECT_EQ(player.packets(Kind::kVideo).size(), 2u);
    source.publication.publish(
        header(Codec::kH264, *media::make_avc_config(base::hex("67640020acd940c029b011000003000100000300320f183196"),
                                                     base::hex("68ebecb22c"))));
    EXPECT_NE(source.lane.tracks()[0].fmtp.find("profile-level-id=640020"), std::string::npos);
    EXPECT_EQ(source.lane.ring().packets(), 0u);  // old frames must not be combined with the new parameter sets
    source.publication.publish(video_frame(80, kIdr));
    EXPECT_EQ(source.lane.ring().packets(), 1u);
    settle();
}

TEST_F(BridgeTest, BadFramesAreCountedAndSkipped) {
    FramesToRtp bridge(*source.stream, {}, unplayable_log);
    source.publication.publish(avc_header());
    LaneReader player(source.lane);
    Frame broken = video_frame(0, kIdr);
    broken.payload = broken.payload.sub(0, 50);
    source.publication.publish(broken);
    source.publication.publish(video_frame(40, kP));  // its keyframe is missing
    EXPECT_EQ(bridge.counters().unusable_frames, 1u);
    EXPECT_EQ(source.lane.ring().packets(), 0u);
    source.publication.publish(video_frame(80, kIdr));
    EXPECT_GT(source.lane.ring().packets(), 0u);
    settle();
}

TEST_F(BridgeTest, ThereAndBack) {
    FramesToRtp forth(*source.stream, {}, unplayable_log);
    RtpToFrames back(target.publication, {});
    Frames frames;
    source.publication.publish(avc_header());
    auto aac_frames = aac(0);
    source.publication.publish(aac_frames[0]);
    LaneReader player(source.lane);
    source.publication.publish(video_frame(0, kIdr, 3000));
    carry(player, target);
    EXPECT_FALSE(back.running());
    EXPECT_TRUE(target.stream->gop().empty());

    target.stream->subscribe(frames);
    EXPECT_TRUE(back.running());
    size_t at = 1;
    for (int i = 1; i < 25; ++i) {
        while (at < aac_frames.size() && aac_frames[at].dts < media::from_ms(i * 40))
            source.publication.publish(aac_frames[at++]);
        source.publication.publish(video_frame(i * 40, i == 12 ? kIdr : kP, 2000 + static_cast<size_t>(i)));
        carry(player, target);
    }
    auto video = frames.of(Kind::kVideo), audio = frames.of(Kind::kAudio);
    ASSERT_EQ(frames.of(Kind::kVideo, true).size(), 1u);
    EXPECT_EQ(frames.of(Kind::kVideo, true)[0].payload, avc_header().payload);
    ASSERT_EQ(video.size(), 25u);
    EXPECT_TRUE(video[0].keyframe && video[12].keyframe);
    EXPECT_EQ(video[5].payload, video_frame(200, kP, 2005).payload);
    EXPECT_EQ(media::to_ms(video[24].dts - video[0].dts), 960);
    ASSERT_EQ(frames.of(Kind::kAudio, true).size(), 1u);
    EXPECT_EQ(frames.of(Kind::kAudio, true)[0].codec, Codec::kAac);
    ASSERT_GT(audio.size(), 30u);
    // Audio stays aligned with video, except for the codecs' look-ahead.
    EXPECT_NEAR(static_cast<double>(media::to_ms(audio[10].dts - video[0].dts)), 10 * 1024 / 48.0 - 50, 45);
    target.stream->unsubscribe(frames);
    back.on_tick(base::monotonic_ms());
    EXPECT_FALSE(back.running());
    EXPECT_TRUE(target.stream->gop().empty());
    settle();
}

// A player by HTTP-FLV is told of the tracks once, before the first frame; converted audio is later than that.
TEST_F(BridgeTest, AudioIsAnnouncedBeforeTheFirstVideoFrame) {
    for (bool audio_arrived : {true, false}) {
        Side side;
        live::RtpTrack video{.codec = Codec::kH264, .payload_type = 102, .ssrc = 7};
        video.sprop = "sprop-parameter-sets=Z0LAHtiQKAv+XARAAAADAEAAAAyDxYuJgA==,aMiIyyA=";
        live::RtpTrack audio{.kind = Kind::kAudio, .codec = Codec::kOpus, .clock_rate = 48'000, .channels = 2};
        side.owner.rtp = true;
        side.lane.set_tracks({video, audio});
        side.lane.append(0, {1, 90'000, true, true}, base::hex("65888400"), base::monotonic_us());
        if (audio_arrived) side.lane.append(1, {1, 48'000, true, false}, base::hex("fcfffe"), base::monotonic_us());
        RtpToFrames back(side.publication, {});
        Frames frames;
        side.stream->subscribe(frames);
        side.lane.append(0, {2, 93'600, true, false}, base::hex("419a2200"), base::monotonic_us());
        auto is_frame = [](const Frame& frame) { return frame.kind == Kind::kVideo && !frame.sequence_header; };
        auto is_header = [](const Frame& frame) { return frame.kind == Kind::kAudio && frame.sequence_header; };
        settle();
        const auto first = std::ranges::find_if(frames.frames, is_frame);
        ASSERT_NE(first, frames.frames.end());
        const auto header = std::find_if(frames.frames.begin(), first, is_header);
        ASSERT_EQ(header != first, audio_arrived);
        if (audio_arrived) {
            EXPECT_EQ(header->payload, AudioTranscoder::aac_header(2));
        }
        side.stream->unsubscribe(frames);
    }
}

TEST_F(BridgeTest, ParameterSetsOfTheOfferAreEnough) {
    live::RtpTrack track{.codec = Codec::kH264, .payload_type = 102, .ssrc = 7};
    track.sprop = "sprop-parameter-sets=Z0LAHtiQKAv+XARAAAADAEAAAAyDxYuJgA==,aMiIyyA=";
    target.owner.rtp = true;
    target.lane.set_tracks({track});
    RtpToFrames back(target.publication, {});
    Frames frames;
    target.stream->subscribe(frames);
    target.lane.append(0, {1, 90'000, true, true}, base::hex("65888400"), base::monotonic_us());
    target.lane.append(0, {2, 93'600, true, false}, base::hex("419a2200"), base::monotonic_us());
    settle();
    ASSERT_EQ(frames.of(Kind::kVideo, true).size(), 1u);
    EXPECT_EQ(frames.of(Kind::kVideo, true)[0].payload, avc_header().payload);
    EXPECT_EQ(frames.of(Kind::kVideo).size(), 2u);
    target.stream->unsubscribe(frames);
    settle();
}

TEST_F(BridgeTest, AfterALossVideoContinuesAtAKeyframe) {
    struct Source : live::KeyframeSource {
        int requests = 0;
        void make_keyframe() override { ++requests; }
    } keyframes;
    FramesToRtp forth(*source.stream, {}, unplayable_log);
    RtpToFrames back(target.publication, {});
    Frames frames;
    target.stream->subscribe(frames);
    target.lane.set_keyframe_source(&keyframes);
    source.publication.publish(avc_header());
    LaneReader player(source.lane);
    source.publication.publish(video_frame(0, kIdr));
    source.publication.publish(video_frame(40, kP, 2500));
    carry(player, target, {3});
    source.publication.publish(video_frame(80, kP));
    carry(player, target);
    EXPECT_EQ(frames.of(Kind::kVideo).size(), 1u);  // it waits for the missing packet
    // After a while it stops waiting.
    back.on_tick(base::monotonic_ms() + 2000);
    EXPECT_EQ(frames.of(Kind::kVideo).size(), 1u);
    EXPECT_EQ(back.counters().given_up_packets, 1u);
    EXPECT_EQ(back.counters().skipped_frames, 1u);
    EXPECT_GE(keyframes.requests, 1);
    source.publication.publish(video_frame(120, kIdr));
    source.publication.publish(video_frame(160, kP));
    carry(player, target);
    EXPECT_EQ(frames.of(Kind::kVideo).size(), 3u);
    target.stream->unsubscribe(frames);
    settle();
}

TEST_F(BridgeTest, ReorderedPacketsAreNoLoss) {
    FramesToRtp forth(*source.stream, {}, unplayable_log);
    RtpToFrames back(target.publication, {});
    Frames frames;
    target.stream->subscribe(frames);
    source.publication.publish(avc_header());
    LaneReader player(source.lane);
    source.publication.publish(video_frame(0, kIdr, 9000));
    auto packets = player.packets(Kind::kVideo);
    ASSERT_EQ(packets.size(), 9u);
    target.lane.set_tracks(source.lane.tracks());
    for (size_t i : {0u, 2u, 1u, 5u, 4u, 3u, 3u, 8u, 6u, 7u})
        target.lane.append(0, {static_cast<uint16_t>(packets[i].sequence), 0, packets[i].marker, packets[i].keyframe},
                           packets[i].payload, base::monotonic_us());
    settle();
    ASSERT_EQ(frames.of(Kind::kVideo).size(), 1u);
    EXPECT_EQ(frames.of(Kind::kVideo)[0].payload, video_frame(0, kIdr, 9000).payload);
    EXPECT_EQ(back.counters().given_up_packets, 0u);
    target.stream->unsubscribe(frames);
    settle();
}

TEST_F(BridgeTest, TheSecondTracksReportAlignsItWithTheFirst) {
    RtpToFrames back(target.publication, {});
    Frames frames;
    target.stream->subscribe(frames);
    live::RtpTrack video{.kind = Kind::kVideo, .codec = Codec::kH264};
    live::RtpTrack audio{.kind = Kind::kAudio, .codec = Codec::kPcmAlaw, .clock_rate = 8000, .channels = 1};
    target.lane.set_tracks({video, audio});
    auto packetizer = rtp::make_packetizer(Codec::kH264, {});
    ASSERT_TRUE(packetizer->set_header(avc_header()));
    uint16_t video_sequence = 0, audio_sequence = 0;
    std::vector<uint8_t> silence(160, 0xd5);
    double before = 0, after = 0;  // how far audio is behind video, on average of ten
    for (int i = 0; i < 100; ++i) {
        std::vector<rtp::testing::Payload> payloads;
        ASSERT_TRUE(rtp::testing::packetize(*packetizer, video_frame(i * 20, i == 0 ? kIdr : kP), payloads));
        auto video_time = static_cast<uint32_t>(5000 + i * 20 * 90), audio_time = static_cast<uint32_t>(777 + i * 160);
        for (const auto& p : payloads)
            target.lane.append(0, {video_sequence++, video_time, p.marker, p.keyframe}, p.bytes, base::monotonic_us());
        target.lane.append(1, {audio_sequence++, audio_time, false, false}, silence, base::monotonic_us());
        // The audio was recorded 100 ms before the video frame that came with it.
        int64_t moment = 1'000'000 + i * 20'000;
        if (i >= 20) target.lane.set_clock(0, moment, video_time);
        if (i >= 40) target.lane.set_clock(1, moment - 100'000, audio_time);
        settle();
        if (i < 10) continue;
        auto apart =
            static_cast<double>(media::to_ms(frames.of(Kind::kVideo).back().dts - frames.of(Kind::kAudio).back().dts));
        if (i >= 30 && i < 40) before += apart / 10;
        if (i >= 90) after += apart / 10;
    }
    auto video_frames = frames.of(Kind::kVideo);
    ASSERT_EQ(video_frames.size(), 100u);
    for (size_t i = 1; i < 100; ++i)
        EXPECT_NEAR(static_cast<double>(media::to_ms(video_frames[i].dts - video_frames[i - 1].dts)), 20, 1);
    EXPECT_NEAR(after - before, 100, 25);
    target.stream->unsubscribe(frames);
    settle();
}

// 2^31 ticks are 6.6 hours of video: without sender reports, and with one at the beginning.
TEST_F(BridgeTest, FramesContinueOverEachWrapOfTheTimestamps) {
    for (bool reported : {false, true}) {
        Side side;
        RtpToFrames back(side.publication, {});
        Frames frames;
        side.stream->subscribe(frames);
        side.lane.set_tracks({{.kind = Kind::kVideo, .codec = Codec::kH264}});
        auto packetizer = rtp::make_packetizer(Codec::kH264, {});
        ASSERT_TRUE(packetizer->set_header(avc_header()));
        uint16_t sequence = 65'000;
        constexpr int64_t kStepS = 8, kFrames = (int64_t{1} << 32) / 90'000 / kStepS + 100;
        int64_t now_us = base::monotonic_us();
        for (int64_t i = 0; i < kFrames; ++i) {
            std::vector<rtp::testing::Payload> payloads;
            ASSERT_TRUE(rtp::testing::packetize(*packetizer, video_frame(0, kIdr), payloads));
            const auto timestamp = static_cast<uint32_t>(0xfffffff0 + i * kStepS * 90'000);
            now_us += kStepS * 1'000'000;
            for (const auto& p : payloads)
                side.lane.append(0, {sequence++, timestamp, p.marker, p.keyframe}, p.bytes, now_us);
            if (reported && i == 10) side.lane.set_clock(0, 1'000'000 * kStepS * i, timestamp);
            settle();
        }
        const auto video_frames = frames.of(Kind::kVideo);
        ASSERT_EQ(video_frames.size(), static_cast<size_t>(kFrames));
        for (size_t i = 1; i < video_frames.size(); ++i)
            ASSERT_NEAR(static_cast<double>(media::to_ms(video_frames[i].dts - video_frames[i - 1].dts)), kStepS * 1000,
                        60)
                << i;
        EXPECT_EQ(side.stream->counters().timeline_jumps, 0u);
        side.stream->unsubscribe(frames);
        settle();
    }
}

// A publisher whose clock is set back by years still has frames at increasing times.
TEST_F(BridgeTest, FramesContinueAfterAReportOfAnEarlierTime) {
    RtpToFrames back(target.publication, {});
    Frames frames;
    target.stream->subscribe(frames);
    target.lane.set_tracks({{.kind = Kind::kVideo, .codec = Codec::kH264}});
    auto packetizer = rtp::make_packetizer(Codec::kH264, {});
    ASSERT_TRUE(packetizer->set_header(avc_header()));
    const int64_t now_us = base::monotonic_us();
    for (uint16_t i = 0; i < 100; ++i) {
        std::vector<rtp::testing::Payload> payloads;
        ASSERT_TRUE(rtp::testing::packetize(*packetizer, video_frame(0, kIdr), payloads));
        for (const auto& p : payloads)
            target.lane.append(0, {i, 3600u * i, p.marker, p.keyframe}, p.bytes, now_us + i * 40'000);
        if (i >= 20 && i % 20 == 0) {
            const int64_t years = i % 40 == 0 ? 30 : -50;
            target.lane.set_clock(0, years * 365 * 86'400'000'000 + i * 40'000, 3600u * i);
        }
        settle();
    }
    const auto video_frames = frames.of(Kind::kVideo);
    ASSERT_EQ(video_frames.size(), 100u);
    for (size_t i = 1; i < 100; ++i) EXPECT_EQ(media::to_ms(video_frames[i].dts - video_frames[i - 1].dts), 40) << i;
    target.stream->unsubscribe(frames);
    settle();
}

TEST_F(BridgeTest, AnotherSourceOfTheVideoBeginsWithItsKeyframe) {
    RtpToFrames back(target.publication, {});
    Frames frames;
    target.stream->subscribe(frames);
    target.lane.set_tracks({{.kind = Kind::kVideo, .codec = Codec::kH264}});
    auto packetizer = rtp::make_packetizer(Codec::kH264, {});
    ASSERT_TRUE(packetizer->set_header(avc_header()));
    const int64_t now_us = base::monotonic_us();
    auto put = [&](uint16_t sequence, uint32_t timestamp, int64_t after_ms, const char* kind) {
        std::vector<rtp::testing::Payload> payloads;
        ASSERT_TRUE(rtp::testing::packetize(*packetizer, video_frame(0, kind), payloads));
        for (const auto& p : payloads)
            target.lane.append(0, {sequence++, timestamp, p.marker, p.keyframe}, p.bytes, now_us + after_ms * 1000);
    };
    put(1, 1000, 0, kIdr);
    put(10, 1000 + 3600, 40, kP);
    // Packets that had not been read before are not lost.
    target.lane.restart_track(0);
    EXPECT_EQ(frames.of(Kind::kVideo).size(), 1u) << "the second one waits for a missing packet";
    put(40'000, 0xffffff00, 440, kP);
    put(40'001, 0xffffff00 + 3600, 480, kIdr);
    settle();
    const auto video_frames = frames.of(Kind::kVideo);
    ASSERT_EQ(video_frames.size(), 2u);
    EXPECT_TRUE(video_frames[1].keyframe);
    EXPECT_NEAR(static_cast<double>(media::to_ms(video_frames[1].dts - video_frames[0].dts)), 480, 2);
    target.stream->unsubscribe(frames);
    settle();
}

// Two hours at 24000/1001 and 60000/1001 frames a second, as keyframes some seconds apart; 90 kHz wraps in between. Out
// of RTP come microseconds, which are finer than its ticks.
TEST_F(BridgeTest, TwoHoursOfTimesAreOffByNoMoreThanHalfATick) {
    constexpr int64_t kClock = 90'000, kFramesApart = 150;
    constexpr media::Time kHalfATick = media::from_ticks(1, kClock * 2), kMicrosecond = media::from_us(1);
    for (const int64_t timescale : {24'000, 60'000}) {
        const int64_t count = 2 * 3'600 * timescale / 1'001 / kFramesApart;
        // Near the first wrap at 32 bits of 90 kHz.
        const media::Time begin = media::from_ticks(int64_t{UINT32_MAX} - kClock * 3'600, kClock);
        Side from{.options = {.time_jitter = live::TimeJitter::kOff}}, to;
        to.owner.rtp = true;
        RtpToFrames back(to.publication, {});
        FramesToRtp out(*from.stream, {}, unplayable_log);
        Frames frames;
        to.stream->subscribe(frames);
        from.publication.publish(avc_header());
        LaneReader player(from.lane);
        std::vector<media::Time> published;
        for (int64_t i = 0; i < count; ++i) {
            Frame frame = video_frame(0, kIdr);
            frame.dts = begin + media::from_ticks(i * kFramesApart * 1'001, timescale);
            published.push_back(frame.dts);
            from.publication.publish(std::move(frame));
            const RtpLane& lane = from.lane;
            const live::RtpPacket& packet = lane.ring().at(lane.ring().end() - 1);
            const auto ticks = static_cast<uint32_t>(media::to_ticks(published.back(), kClock));
            ASSERT_EQ(packet.timestamp, ticks) << i;
            ASSERT_LE(
                media::distance(media::from_ticks(media::to_ticks(published.back(), kClock), kClock), published.back()),
                kHalfATick);
            if (i % 50 == 0 || i + 1 == count) carry(player, to);
        }
        settle();
        const std::vector<Frame> came = frames.of(Kind::kVideo);
        ASSERT_EQ(came.size(), published.size());
        for (size_t i = 0; i < came.size(); ++i) {
            const media::Time want = published[i] - published[0], got = came[i].dts - came[0].dts;
            // Both the first and this one were rounded.
            ASSERT_LE(media::distance(want, got), 2 * kHalfATick + 2 * kMicrosecond) << timescale << " " << i;
        }
        to.stream->unsubscribe(frames);
    }
}

}  // namespace
}  // namespace convert
