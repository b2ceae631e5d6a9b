#include "convert/ts/ps_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "base/hex_testing.h"
#include "protocol/ps/ps_testing.h"
#include "protocol/ps/stream_map.h"
#include "protocol/ts/program.h"

namespace convert {
namespace {

using ps::testing::joined;
using ps::testing::PsBytes;

constexpr uint8_t kVideoId = 0xe0, kAudioId = 0xc0;

PsBytes units(std::string_view text) { return base::hex(std::string(text)); }
const PsBytes kParameters = units("00000001 6742c01ed900a047fec8 00000001 68cb83cb20");
const PsBytes kKeySlice = units("00000001 6588840a"), kSlice = units("00000001 419a2402");

// "Vh V1000k(11) Pa1000(320)": kind, header, ms, keyframe, bytes.
std::string ps_frames(const std::vector<media::Frame>& frames) {
    std::string text;
    for (const media::Frame& frame : frames) {
        const char kind = frame.kind == media::Kind::kVideo ? 'V' : 'A';
        if (!text.empty()) text += ' ';
        text += frame.sequence_header ? fmt::format("{}h", kind)
                                      : fmt::format("{}{}{}({})", kind, media::to_ms(frame.dts),
                                                    frame.keyframe ? "k" : "", frame.payload.size());
    }
    return text;
}

struct CameraCase {
    std::string what;
    PsBytes bytes;
    std::string expected;
};

PsBytes begin_of(uint8_t video_type, uint8_t audio_type) {
    return joined({ps::testing::pack(), ps::testing::system_header(),
                   ps::testing::stream_map({{video_type, kVideoId}, {audio_type, kAudioId}})});
}

TEST(PsReader, ReadsCameras) {
    using ps::testing::pack;
    using ps::testing::packet;
    const PsBytes key = joined({kParameters, kKeySlice});
    const PsBytes adts = units("fff14c80021ffc 010203040506070809");
    const PsBytes begin = begin_of(ts::kH264, ps::kPcmAlaw);
    const PsBytes hevc = units(
        "00000001 40010c01ffff01600000030090000003000003005d959809"
        "00000001 420101016000000300900000030000030 05da00280802d165959a4932bc05a70808000001f480005dc04"
        "00000001 4401c172b46240 00000001 2601af08");
    const std::vector<CameraCase> cases = {
        {"a frame a packet",
         joined({begin, packet(kVideoId, 90'000 * 20, key), pack(), packet(kVideoId, 90'000 * 20 + 3600, kSlice)}),
         "Vh V1000k(8) V1040(8)"},
        {"parameter sets in packets of their own",
         joined({begin, packet(kVideoId, 1'800'000, kParameters), packet(kVideoId, 1'800'000, kKeySlice)}),
         "Vh V1000k(8)"},
        {"a keyframe in several packets, cut anywhere",
         joined({begin, packet(kVideoId, 1'800'000, std::span(key).first(9)),
                 packet(kVideoId, {}, std::span(key).subspan(9, 11)), packet(kVideoId, {}, std::span(key).subspan(20)),
                 packet(kVideoId, 1'803'600, kSlice)}),
         "Vh V1000k(8) V1040(8)"},
        {"G.711 of any length",
         joined({begin, packet(kAudioId, 1'800'000, PsBytes(800, 0xd5)), packet(kAudioId, {}, PsBytes(160, 0xd5))}),
         "A1000(320) A1040(320) A1080(160) A1100(160)"},
        {"AAC, several frames a packet",
         joined({begin_of(ts::kH264, ts::kAdtsAac), packet(kAudioId, 1'800'000, joined({adts, adts}))}),
         "Ah A1000(9) A1021(9)"},
        {"video that begins without a keyframe",
         joined({begin, packet(kVideoId, 1'800'000, kSlice), packet(kVideoId, 1'803'600, key)}), "Vh V1000k(8)"},
        {"HEVC", joined({begin_of(ts::kHevc, ps::kPcmUlaw), packet(kVideoId, 1'800'000, hevc)}), "Vh V1000k(8)"},
    };
    for (const CameraCase& one : cases) {
        PsReader reader;
        std::vector<media::Frame> frames;
        reader.feed(one.bytes, 0, frames);
        reader.finish(0, frames);
        EXPECT_EQ(ps_frames(frames), one.expected) << one.what;
    }
}

TEST(PsReader, AnAccessUnitIsDeliveredAtItsEnd) {
    using ps::testing::packet;
    PsReader reader;
    std::vector<media::Frame> frames;
    reader.feed(
        joined({begin_of(ts::kH264, ps::kPcmAlaw), packet(kVideoId, 1'800'000, joined({kParameters, kKeySlice}))}), 0,
        frames);
    EXPECT_EQ(ps_frames(frames), "") << "it may continue";
    reader.end_unit(0, frames);
    EXPECT_EQ(ps_frames(frames), "Vh V1000k(8)");
    const PsBytes next = packet(kVideoId, 1'803'600, kSlice);
    reader.feed(std::span(next).first(8), 0, frames);
    reader.end_unit(0, frames);
    reader.feed(std::span(next).subspan(8), 0, frames);
    reader.on_gap(0, frames);
    EXPECT_EQ(ps_frames(frames), "Vh V1000k(8)") << "a gap hits what may be unfinished";
    EXPECT_EQ(reader.counters().damaged, 1u);
}

TEST(PsReader, G711SaysThatItIsMono) {
    PsReader reader;
    std::vector<media::Frame> frames;
    reader.feed(
        joined({begin_of(ts::kH264, ps::kPcmUlaw), ps::testing::packet(kAudioId, 1'800'000, PsBytes(160, 0xff))}), 0,
        frames);
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(frames[0].codec, media::Codec::kPcmUlaw);
    EXPECT_EQ(frames[0].publisher_format, 0x82);
}

}  // namespace
}  // namespace convert
