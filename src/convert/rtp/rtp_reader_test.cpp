#include "convert/rtp/rtp_reader.h"

#include <gtest/gtest.h>

#include "media/aac.h"
#include "media/h264.h"
#include "protocol/rtp/payload/payload_testing.h"

namespace convert {
namespace {

using media::Codec;
using media::Frame;
using media::Kind;
using rtp::testing::Bytes;
using rtp::testing::nalu;

sdp::SessionTrack h264_track(bool with_sets) {
    sdp::SessionTrack track;
    track.kind = Kind::kVideo;
    track.format.codec = Codec::kH264;
    if (with_sets) track.parameter_sets = {rtp::testing::h264_sps(), rtp::testing::h264_pps()};
    return track;
}

sdp::SessionTrack aac_track() {
    sdp::SessionTrack track;
    track.kind = Kind::kAudio;
    track.payload_type = 97;
    track.language = "eng";
    track.format.codec = Codec::kAac;
    track.format.clock_rate = 48'000;
    track.format.aac_config = media::make_aac_config(2, 48'000, 2);
    return track;
}

// One video track, its packets numbered by hand.
struct Video {
    explicit Video(bool with_sets = true, RtpReaderOptions options = {}) : reader({h264_track(with_sets)}, options) {}
    std::vector<Frame> push(const Bytes& payload, uint32_t timestamp, int64_t now_ms, bool marker = true,
                            bool after_hole = false) {
        std::vector<Frame> out;
        reader.push(0, {marker, payload_type, 0, timestamp, ssrc}, payload, after_hole, now_ms * 1000, out);
        return out;
    }
    std::vector<Frame> key(uint32_t timestamp, int64_t now_ms) { return push(nalu({0x65}, 50), timestamp, now_ms); }
    std::vector<Frame> delta(uint32_t timestamp, int64_t now_ms, bool after_hole = false) {
        return push(nalu({0x41}, 30), timestamp, now_ms, true, after_hole);
    }
    RtpReader reader;
    uint32_t ssrc = 1;
    uint8_t payload_type = 96;
};

int64_t ms(const Frame& frame) { return media::to_ms(frame.dts); }

TEST(RtpReader, BeginsAtAKeyframe) {
    Video video;
    EXPECT_TRUE(video.reader.tracks().empty());
    auto early = video.delta(0, 0);
    ASSERT_EQ(early.size(), 1u);
    EXPECT_TRUE(early[0].sequence_header);  // of the description
    EXPECT_TRUE(video.reader.waits_for_keyframe());
    auto frames = video.key(3600, 40);
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_TRUE(frames[0].keyframe);
    EXPECT_FALSE(video.reader.waits_for_keyframe());
    EXPECT_EQ(video.reader.counters(0).skipped_frames, 1u);
    ASSERT_TRUE(video.reader.tracks().video());
    EXPECT_TRUE(video.reader.tracks().video()->config());
}

TEST(RtpReader, ParameterSetsMayBeInTheStreamAlone) {
    Video video(false);
    EXPECT_TRUE(video.key(0, 0).empty());
    EXPECT_EQ(video.reader.counters(0).payloads.undecodable, 1u);
    EXPECT_TRUE(video.push(rtp::testing::h264_sps(), 3600, 40, false).empty());
    EXPECT_TRUE(video.push(rtp::testing::h264_pps(), 3600, 40, false).empty());
    auto frames = video.key(3600, 40);
    ASSERT_EQ(frames.size(), 2u);
    EXPECT_TRUE(frames[0].sequence_header);
    EXPECT_TRUE(frames[1].keyframe);
}

TEST(RtpReader, AfterALossVideoWaitsForAKeyframe) {
    Video video;
    video.key(0, 0);
    EXPECT_EQ(video.delta(3600, 40).size(), 1u);
    EXPECT_TRUE(video.delta(10800, 120, true).empty());
    EXPECT_TRUE(video.delta(14400, 160).empty());
    auto frames = video.key(18000, 200);
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(ms(frames[0]), 400);

    Video lenient(true, {.wait_for_keyframe = false});
    lenient.key(0, 0);
    EXPECT_EQ(lenient.delta(10800, 120, true).size(), 1u);
}

TEST(RtpReader, ARebootedCameraContinues) {
    Video video;
    video.key(90'000'000, 0);
    video.delta(90'003'600, 40);
    video.ssrc = 2;
    EXPECT_EQ(video.delta(7, 3000).size(), 1u);  // the sequence header only: it waits for a keyframe
    auto frames = video.key(3607, 3040);
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_TRUE(frames[0].discontinuity);
    EXPECT_EQ(ms(frames[0]), 3240);
    EXPECT_EQ(video.reader.counters(0).jumps, 1u);
    EXPECT_EQ(ms(video.delta(7207, 3080)[0]), 3280);
}

TEST(RtpReader, TimestampsThatJumpAreJoined) {
    Video video;
    video.key(0, 0);
    auto frames = video.delta(0x70000000, 40);
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_TRUE(frames[0].discontinuity);
    EXPECT_EQ(ms(frames[0]), 240);
    frames = video.delta(0x70000000 + 3600, 80);
    EXPECT_FALSE(frames[0].discontinuity);
    EXPECT_EQ(ms(frames[0]), 280);
    EXPECT_EQ(video.reader.counters(0).jumps, 1u);
}

TEST(RtpReader, DecodingTimesRiseWhereTimestampsDoNot) {
    Video video;
    media::Time last = media::kNoTime;
    video.key(0, 0);
    for (int i = 1; i < 50; ++i) {
        auto frames = video.delta(0, i * 40);  // its clock stands still
        ASSERT_EQ(frames.size(), 1u);
        EXPECT_GT(frames[0].dts, last);
        last = frames[0].dts;
    }
}

TEST(RtpReader, OtherPayloadTypesAreIgnoredWhereTheDescribedOneIsUsed) {
    Video video;
    video.payload_type = 98;  // a sender that describes another type than it uses
    video.key(0, 0);
    EXPECT_EQ(video.delta(3600, 40).size(), 1u);
    video.payload_type = 96;
    EXPECT_EQ(video.delta(7200, 80).size(), 1u);
    video.payload_type = 13;
    EXPECT_TRUE(video.delta(10800, 120).empty());
    EXPECT_EQ(video.reader.counters(0).other_packets, 1u);
}

TEST(RtpReader, AudioAndVideoAreTracksOfASet) {
    RtpReader reader({h264_track(true), aac_track()});
    std::vector<Frame> out;
    const Bytes units = base::hex("0020 0010 0010 2101 2102");
    reader.push(1, {true, 97, 0, 5000, 9}, units, false, 0, out);
    ASSERT_EQ(out.size(), 3u);
    EXPECT_EQ(out[0].payload, media::make_aac_config(2, 48'000, 2));
    EXPECT_EQ(out[2].dts - out[1].dts, media::from_ticks(1024, 48'000));
    out.clear();
    reader.push(0, {true, 96, 0, 0, 1}, nalu({0x65}, 50), false, 100'000, out);
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(media::to_us(out[1].dts), 300'000 + 21'333);  // 100 ms after the packet of audio
    EXPECT_EQ(reader.tracks().tracks.size(), 2u);
    EXPECT_EQ(reader.tracks().audio()->language, "eng");
    EXPECT_EQ(reader.tracks().config(Kind::kAudio)->payload, media::make_aac_config(2, 48'000, 2));
}

// AAC of 48 kHz whose description says 90 kHz, and whose timestamps count samples.
TEST(RtpReader, AudioThatCountsAtAnotherRateThanDescribedIsFound) {
    auto track = aac_track();
    track.format.clock_rate = 90'000;
    RtpReader reader({track});
    std::vector<Frame> out;
    uint32_t timestamp = 0;
    for (int i = 0; i < 100; ++i, timestamp += 1024)
        reader.push(0, {true, 97, 0, timestamp, 9}, base::hex("0010 0010 2101"), false, i * 21'333, out);
    EXPECT_EQ(reader.clock_rate(0), 48'000u);
    ASSERT_EQ(out.size(), 101u);
    EXPECT_EQ(out[100].dts - out[99].dts, media::from_ticks(1024, 48'000));
    const auto late = media::from_ticks(99 * 1024, 48'000) - (out[100].dts - out[1].dts);
    EXPECT_LT(media::distance(late, media::Time(0)), std::chrono::milliseconds(100))
        << "of the frames before it was found";

    RtpReader right({aac_track()});
    for (int i = 0; i < 100; ++i, timestamp += 1024)
        right.push(0, {true, 97, 0, timestamp, 9}, base::hex("0010 0010 2101"), false, i * 21'333, out);
    EXPECT_EQ(right.clock_rate(0), 48'000u);
}

TEST(RtpReader, DefectsOfPayloadsAreCountedAndNamed) {
    RtpReader reader({aac_track()});
    std::vector<Frame> out;
    reader.push(0, {true, 97, 0, 0, 9}, base::hex("0020 0010 0011 2101 2102"), false, 0, out);
    EXPECT_EQ(reader.counters(0).payloads.malformed, 1u);
    EXPECT_EQ(reader.counters(0).payloads.defect, "interleaved access units are not supported");
    reader.push(0, {true, 97, 0, 0, 10}, base::hex("00"), false, 0, out);  // another source: counters stay
    EXPECT_EQ(reader.counters(0).payloads.malformed, 2u);
}

TEST(RtpReader, FramesInProgressAreNamedAndDropped) {
    RtpReader reader({h264_track(true), aac_track()});
    std::vector<Frame> out;
    const auto push = [&](size_t track, const Bytes& payload, uint32_t timestamp, bool marker) {
        out.clear();
        const auto type = static_cast<uint8_t>(track == 0 ? 96 : 97);
        reader.push(track, {marker, type, 0, timestamp, 1}, payload, false, timestamp, out);
        return out.size();
    };
    const auto named = [&] {
        std::vector<uint64_t> frames;
        reader.list_unfinished(frames);
        return frames;
    };
    EXPECT_TRUE(named().empty());
    push(0, nalu({0x65}, 50), 0, true);
    Bytes part(1000, 0x55);
    part[0] = 0x7c, part[1] = 0x85;
    push(0, part, 3000, false);
    part[1] = 0x05;
    push(0, part, 3000, false);
    const auto begun = named();
    ASSERT_EQ(begun.size(), 1u);
    for (int i = 0; i < 200; ++i) push(0, part, 3000, false);
    for (uint32_t i = 0; i < 10; ++i) push(1, nalu({0, 16, 0, 80}, 14), i * 1024, true);
    EXPECT_EQ(named().front(), begun.front());  // whatever other tracks do
    EXPECT_GE(reader.memory(), 200'000u);
    reader.drop_unfinished();
    EXPECT_EQ(reader.memory(), 0u);
    for (int i = 0; i < 200; ++i) push(0, part, 3000, false);
    EXPECT_LT(reader.memory(), 100'000u);
    push(0, nalu({0x65}, 50), 6000, true);
    EXPECT_EQ(out.size(), 1u);
    push(0, part, 9000, false);
    EXPECT_NE(named().front(), begun.front());
}

}  // namespace
}  // namespace convert
