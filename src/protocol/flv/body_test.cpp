#include "protocol/flv/body.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"

namespace flv {

using base::hex;
using base::Slice;
using media::Codec;
using media::Frame;
using media::Kind;

namespace {

// From real publishers.
const std::string kAvcConfig = "01640020ffe1001967640020acd940c029b011000003000100000300320f18319601000568ebecb22c";
const std::string kHevcConfig =
    "0101600000009000000000003ff000fcfdf8f800000f03"
    "a00001001840010c01ffff01600000030090000003000003003f959809"
    "a10001002b42010101600000030090000003000003003fa00602014165959a4932bc05a708000003000800000300c840"
    "a2000100074401c172b46240";

Slice body(const std::string& text) { return Slice::copy(hex(text)); }

std::string text_of(std::string_view s) {
    std::string out;
    for (char c : s) out += fmt::format("{:02x}", static_cast<uint8_t>(c));
    return out;
}

// A parser after one sequence header: of several, the last one counts.
BodyParser after(const std::string& sequence_header) {
    BodyParser parser;
    EXPECT_TRUE(parser.video(body(sequence_header), 0));
    return parser;
}

struct Case {
    const char* name;
    std::string bytes;
    Codec codec;
    bool keyframe;
    bool sequence_header;
    int cts;
    std::string payload;
};

void expect_frame(base::Result<Parsed> result, const Case& c) {
    ASSERT_TRUE(result) << c.name << ": " << result.error().text();
    ASSERT_TRUE(result->frame) << c.name << ": " << result->nothing;
    const media::Frame& frame = *result->frame;
    EXPECT_EQ(frame.codec, c.codec) << c.name;
    EXPECT_EQ(frame.keyframe, c.keyframe) << c.name;
    EXPECT_EQ(frame.sequence_header, c.sequence_header) << c.name;
    EXPECT_EQ(media::to_ms(frame.cts), c.cts) << c.name;
    EXPECT_EQ(media::to_ms(frame.dts), 1234) << c.name;
    EXPECT_EQ(frame.payload, body(c.payload)) << c.name;
}

}  // namespace

TEST(Body, VideoOfEveryForm) {
    const std::string unit = "00000002 6588", inter = "00000002 419a";
    const std::string hevc_unit = "00000003 280188", hevc_inter = "00000003 020188";
    const Case avc[] = {
        {"AVC sequence header", "17 00 000000" + kAvcConfig, Codec::kH264, false, true, 0, kAvcConfig},
        {"AVC key", "17 01 000050" + unit, Codec::kH264, true, false, 80, unit},
        {"AVC generated key", "47 01 000000" + unit, Codec::kH264, true, false, 0, unit},
        {"AVC inter, negative cts", "27 01 ffffd8" + inter, Codec::kH264, false, false, -40, inter},
        {"AVC enhanced sequence header", "90 61766331" + kAvcConfig, Codec::kH264, false, true, 0, kAvcConfig},
        {"AVC enhanced", "91 61766331 000050" + unit, Codec::kH264, true, false, 80, unit},
        {"AVC enhanced X", "a3 61766331" + inter, Codec::kH264, false, false, 0, inter},
    };
    for (const Case& c : avc) expect_frame(after("1700000000" + kAvcConfig).video(body(c.bytes), 1234), c);
    const Case hevc[] = {
        {"HEVC by id 12", "1c 00 000000" + kHevcConfig, Codec::kHevc, false, true, 0, kHevcConfig},
        {"HEVC key by id 12", "1c 01 000028" + hevc_unit, Codec::kHevc, true, false, 40, hevc_unit},
        {"HEVC enhanced", "90 68766331" + kHevcConfig, Codec::kHevc, false, true, 0, kHevcConfig},
        {"HEVC frames", "91 68766331 000028" + hevc_unit, Codec::kHevc, true, false, 40, hevc_unit},
        {"HEVC frames X", "a3 68766331" + hevc_inter, Codec::kHevc, false, false, 0, hevc_inter},
        {"HEVC with ModEx", "a7 03 00112233 03 68766331" + hevc_inter, Codec::kHevc, false, false, 0, hevc_inter},
        {"HEVC with two ModEx", "a7 00 aa 07 01 bbcc 01 68766331 000001" + hevc_inter, Codec::kHevc, false, false, 1,
         hevc_inter},
    };
    for (const Case& c : hevc) expect_frame(after("9068766331" + kHevcConfig).video(body(c.bytes), 1234), c);
    const Case others[] = {
        {"AV1 sequence header", "90 61763031 81000c000a0b0200000561e7f66017c002", Codec::kAv1, false, true, 0,
         "81000c000a0b0200000561e7f66017c002"},
        {"AV1", "91 61763031 1200", Codec::kAv1, true, false, 0, "1200"},
        {"VP9 sequence header", "90 76703039 01000000000b820202020000", Codec::kVp9, false, true, 0,
         "01000000000b820202020000"},
        {"VP9", "a1 76703039 8600", Codec::kVp9, false, false, 0, "8600"},
        {"VP8", "91 76703038 b043009d012a", Codec::kVp8, true, false, 0, "b043009d012a"},
        {"H.263", "12 000084", Codec::kH263, true, false, 0, "000084"},
        {"Screen video", "23 0102", Codec::kScreen, false, false, 0, "0102"},
        {"VP6", "24 0102", Codec::kVp6, false, false, 0, "0102"},
        {"VP6 with alpha", "25 0102", Codec::kVp6Alpha, false, false, 0, "0102"},
    };
    for (const Case& c : others) expect_frame(BodyParser().video(body(c.bytes), 1234), c);
    EXPECT_TRUE(BodyParser().video(body("32 0102"), 0)->frame->disposable);
}

TEST(Body, AudioOfEveryForm) {
    struct AudioCase {
        const char* name;
        std::string bytes;
        Codec codec;
        bool sequence_header;
        uint8_t sound;
        std::string payload;
    };
    const AudioCase cases[] = {
        {"AAC sequence header", "af 00 1210", Codec::kAac, true, 0xaf, "1210"},
        {"AAC", "af 01 2117", Codec::kAac, false, 0xaf, "2117"},
        {"MP3", "2e fffb50", Codec::kMp3, false, 0x2e, "fffb50"},
        {"MP3 at 8 kHz", "ee fffb50", Codec::kMp3, false, 0xee, "fffb50"},
        {"A law", "72 d5", Codec::kPcmAlaw, false, 0x72, "d5"},
        {"mu law", "82 ff", Codec::kPcmUlaw, false, 0x82, "ff"},
        {"Speex", "b6 1d", Codec::kSpeex, false, 0xb6, "1d"},
        {"PCM", "3f 0000", Codec::kPcmLe, false, 0x3f, "0000"},
        {"Nellymoser 8 kHz", "52 00", Codec::kNellymoser, false, 0x52, "00"},
        {"Opus head", "90 4f707573 4f707573486561640101380180bb0000000000", Codec::kOpus, true, 0,
         "4f707573486561640101380180bb0000000000"},
        {"Opus", "91 4f707573 f872", Codec::kOpus, false, 0, "f872"},
        {"FLAC", "91 664c6143 fff8", Codec::kFlac, false, 0, "fff8"},
        {"AC-3", "91 61632d33 0b77", Codec::kAc3, false, 0, "0b77"},
        {"E-AC-3", "91 65632d33 0b77", Codec::kEac3, false, 0, "0b77"},
        {"AAC enhanced sequence header", "90 6d703461 1210", Codec::kAac, true, 0, "1210"},
        {"AAC enhanced", "91 6d703461 2117", Codec::kAac, false, 0, "2117"},
        {"MP3 enhanced", "91 2e6d7033 fffb", Codec::kMp3, false, 0, "fffb"},
        {"Opus with ModEx", "97 00 aa 01 4f707573 f872", Codec::kOpus, false, 0, "f872"},
    };
    for (const AudioCase& c : cases) {
        auto result = BodyParser().audio(body(c.bytes), 77);
        ASSERT_TRUE(result) << c.name << result.error().text();
        ASSERT_TRUE(result->frame) << c.name << result->nothing;
        EXPECT_EQ(result->frame->kind, Kind::kAudio);
        EXPECT_EQ(result->frame->codec, c.codec) << c.name;
        EXPECT_EQ(result->frame->sequence_header, c.sequence_header) << c.name;
        EXPECT_EQ(result->frame->publisher_format, c.sound) << c.name;
        EXPECT_EQ(result->frame->payload, body(c.payload)) << c.name;
        EXPECT_EQ(media::to_ms(result->frame->dts), 77);
        EXPECT_FALSE(result->frame->keyframe);
    }
}

TEST(Body, TheNalUnitsDecideAboutKeyframesWhateverTheFlagsSay) {
    BodyParser avc = after("17 00 000000 " + kAvcConfig), hevc = after("90 68766331" + kHevcConfig);
    for (const char* flag : {"17", "27", "37", "47"}) {
        const std::string legacy = std::string(flag) + "01 000000";
        const media::Frame idr = *avc.video(body(legacy + "00000002 6588"), 0)->frame;
        EXPECT_TRUE(idr.keyframe && !idr.disposable) << flag;
        EXPECT_FALSE(avc.video(body(legacy + "00000002 419a"), 0)->frame->keyframe) << flag;
    }
    for (const char* flag : {"93", "a3", "b3"}) {
        const std::string enhanced = std::string(flag) + " 68766331";
        EXPECT_TRUE(hevc.video(body(enhanced + "00000003 2a0188"), 0)->frame->keyframe) << flag << ", CRA";
        EXPECT_FALSE(hevc.video(body(enhanced + "00000003 020188"), 0)->frame->keyframe) << flag;
    }
}

TEST(Body, ARecoveryPointIsAKeyframe) {
    BodyParser parser = after("17 00 000000 " + kAvcConfig);
    const std::string sei = "00000005 060601c480", slice = "00000004 419a0102";
    std::string keyframes;
    for (int i = 0; i < 30; ++i) {
        auto parsed =
            parser.video(body("27 01 000000 " + (i % 12 == 3 ? sei : "") + slice), static_cast<uint32_t>(40 * i));
        ASSERT_TRUE(parsed && parsed->frame) << i;
        if (parsed->frame->keyframe) keyframes += std::to_string(i) + " ";
        EXPECT_FALSE(parsed->frame->disposable);
    }
    EXPECT_EQ(keyframes, "3 15 27 ");
    auto behind = parser.video(body("27 01 000000 " + slice + sei), 2000);
    EXPECT_FALSE(behind->frame->keyframe) << "SEI behind the slice is of another frame";
}

TEST(Body, NothingToPublish) {
    struct NothingCase {
        uint8_t type;
        const char* bytes;
        const char* reason;
    };
    const NothingCase cases[] = {
        {9, "17 02 000000", "the end of a sequence"},
        {9, "17 02", "the end of a sequence"},
        {9, "92 68766331", "the end of a sequence"},
        {9, "57 00", "a video command"},
        {9, "d1 01", "a video command"},
        {9, "94 68766331 0200", "video metadata"},
        {9, "d4 76703039 020009", "video metadata"},
        {9, "95 61763031 00", "an MPEG-2 TS sequence start"},
        {9, "17 01 000000 00000002 6588", "a video frame before its sequence header"},
        {9, "17 01 000000", "a video frame without payload"},
        {9, "17 00 000000", "an empty sequence header"},
        {9, "91 61763031", "a video frame without payload"},
        {8, "af 01", "an audio frame without payload"},
        {8, "2f", "an audio frame without payload"},
        {8, "92 4f707573", "the end of a sequence"},
        {8, "94 4f707573 010100000004", "an audio channel layout"},
        {8, "90 61632d33", "a sequence start of a codec that has none"},
        {18, "02 000f 40636c656172446174614672616d65", "@clearDataFrame"},
        {18, "02 000d 40736574446174614672616d65", "@setDataFrame without data"},
        // Found by libFuzzer: the written form of it could not be read again.
        {18, "02 000d 40736574446174614672616d65 02 000d 40736574446174614672616d65 06",
         "a command within @setDataFrame"},
        {22, "00", "a tag of another type"},
    };
    for (const NothingCase& c : cases) {
        auto result = BodyParser().parse(c.type, body(c.bytes), 0);
        ASSERT_TRUE(result) << c.bytes << ": " << result.error().text();
        EXPECT_FALSE(result->frame) << c.bytes;
        EXPECT_EQ(result->nothing, c.reason) << c.bytes;
    }
}

TEST(Body, Errors) {
    struct ErrorCase {
        uint8_t type;
        std::string bytes;
        const char* text;
    };
    const ErrorCase cases[] = {
        {18, "", "0 bytes"},
        {15, "00", "0 bytes"},
        {9, "17", "shorter than its header"},
        {9, "17 01 0000", "shorter than its header"},
        {9, "90 6876", "shorter than its header"},
        {9, "91 68766331 0000", "shorter than its header"},
        {9, "17 03 000000", "packet type 3"},
        {9, "07 01 000000", "frame type 0"},
        {9, "e1 68766331", "frame type 6"},
        {9, "1f 00", "codec 15 is not supported"},
        {9, "91 76766331 00", "'vvc1' is not supported"},
        {9, "91 00010203 00", "codec '???"},
        {9, "9e 68766331", "packet type 14"},
        {9, "96", "past the end"},
        {9, "96 11 68766331 00 0000ff 00", "past the end"},
        {9, "96 31 68766331 00", "multitrack type 3"},
        {9, "96 06 68766331 00 0000", "packet type 6"},
        {9, "97", "ModEx"},
        {9, "97 ff ffff 00", "ModEx"},
        {9, "17 00 000000 0164", "sequence header"},
        {9, "90 68766331 01", "sequence header"},
        {8, "af", "shorter than its header"},
        {8, "af 02 00", "packet type 2"},
        {8, "af 00 12", "sequence header"},
        {8, "cf 00", "format 12 is not supported"},
        {8, "91 4f70", "shorter than its header"},
        {8, "91 6f707573 00", "'opus' is not supported"},
        {8, "9f 4f707573", "packet type 15"},
        {8, "90 4f707573 00", "sequence header"},
        {18, "00 3ff0000000000000", "without a name"},
        {18, "02 0009 6f", "runs past the end"},
        {18, "02 0001 61 02 ffff 61", "data message 'a'"},
    };
    for (const ErrorCase& c : cases) {
        auto result = BodyParser().parse(c.type, body(c.bytes), 0);
        ASSERT_FALSE(result) << int{c.type} << " " << c.bytes;
        const bool is_codec = std::string_view(c.text).find("supported") != std::string_view::npos || c.text[0] == 'c';
        EXPECT_EQ(result.error().code(), is_codec ? kUnknownCodec : base::Code::kProtocol) << c.bytes;
        EXPECT_NE(result.error().text().find(c.text), std::string::npos) << c.bytes << ": " << result.error().text();
    }
}

// An origin says so that there is no audio, or no video.
TEST(Body, AnEmptyBodyIsNoDefect) {
    for (uint8_t type : {8, 9}) {
        auto result = BodyParser().parse(type, body(""), 0);
        ASSERT_TRUE(result);
        EXPECT_FALSE(result->frame);
        EXPECT_EQ(result->nothing, type == 9 ? "an empty video body" : "an empty audio body");
    }
}

// The other tracks of the body go on, whichever it is.
TEST(Body, ATrackOfAnUnknownCodecIsLeftOut) {
    const std::string opus = "4f707573 01 000002 aabb", unknown = "7a7a7a7a 00 000001 cc";
    for (const std::string& parts : {unknown + opus, opus + unknown}) {
        BodyParser parser;
        auto result = parser.audio(body("95 21" + parts), 0);
        ASSERT_TRUE(result) << result.error().text();
        ASSERT_TRUE(result->frame);
        EXPECT_EQ(result->frame->track, 1);
        EXPECT_TRUE(result->more.empty());
    }
    auto alone = BodyParser().audio(body("95 21" + unknown), 0);
    ASSERT_FALSE(alone);
    EXPECT_EQ(alone.error().code(), kUnknownCodec);
}

TEST(Body, AWrongAvcLengthPrefix) {
    BodyParser parser = after("1700000000" + kAvcConfig);
    auto result = parser.video(body("2701000000 00000009 419a"), 0);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().text().find("H264: a NAL unit's length prefix of 4 bytes runs past the end"), 0u)
        << result.error().text();
    // The length size is from the sequence header: here two bytes.
    std::string two = kAvcConfig;
    two.replace(8, 2, "fd");
    parser = after("1700000000" + two);
    EXPECT_TRUE(parser.video(body("2701000000 0002 419a"), 0)->frame);
    EXPECT_FALSE(parser.video(body("2701000000 0009 419a"), 0));
}

// "index payload" of each frame.
std::string frames_of(const Parsed& parsed) {
    std::string text;
    auto add = [&](const Frame& frame) {
        text += fmt::format("{} ", frame.track);
        for (uint8_t byte : frame.payload.bytes()) text += fmt::format("{:02x}", byte);
        text += frame.sequence_header ? "H;" : ";";
    };
    if (parsed.frame) add(*parsed.frame);
    for (const Frame& frame : parsed.more) add(frame);
    return text;
}

TEST(Body, MultitrackHasAllTracks) {
    struct TrackCase {
        const char* name;
        std::string bytes;
        const char* frames;
        size_t dropped;
    };
    const TrackCase cases[] = {
        {"one track", "96 01 76703038 00 aabb", "0 aabb;", 0},
        {"one other track first", "96 01 76703038 05 aabb", "0 aabb;", 0},
        {"many tracks", "96 11 76703038 00 000002 aabb 01 000001 cc", "0 aabb;1 cc;", 0},
        {"many, 0 last", "96 11 76703038 02 000002 aabb 01 000001 cc 00 000001 dd", "0 dd;1 cc;2 aabb;", 0},
        {"many without 0", "96 11 76703038 02 000002 aabb 01 000001 cc", "0 aabb;1 cc;", 0},
        {"many codecs", "96 21 61763031 00 000002 aabb 76703039 01 000001 cc", "0 aabb;1 cc;", 0},
        {"empty first", "96 11 76703038 00 000000 01 000001 cc", "1 cc;", 0},
        {"an id too large", "96 11 76703038 00 000001 aa 08 000001 cc", "0 aa;", 1},
        {"another codec of another track", "96 21 61763031 00 000002 aabb 3f3f3f3f 01 000001 cc", "0 aabb;", 0},
        {"a defect in another track", "96 21 76703038 00 000001 aa 68766331 01 000001 cc", "0 aa;", 0},
    };
    for (const TrackCase& c : cases) {
        BodyParser parser;
        auto result = parser.video(body(c.bytes), 0);
        ASSERT_TRUE(result) << c.name << result.error().text();
        EXPECT_EQ(frames_of(*result), c.frames) << c.name;
        EXPECT_EQ(parser.dropped_tracks(), c.dropped) << c.name;
    }
    // More parts than there are tracks: track 0 is among them all the same.
    std::string many = "96 11 76703038";
    for (int id = 1; id < 12; ++id) many += fmt::format("{:02x} 000001 {:02x}", id, id);
    BodyParser parser;
    auto result = parser.video(body(many + "00 000001 aa"), 0);
    ASSERT_TRUE(result);
    EXPECT_EQ(frames_of(*result), "0 aa;2 02;3 03;4 04;5 05;6 06;7 07;1 01;");
    ASSERT_TRUE(parser.video(body(many), 0));
    EXPECT_EQ(parser.dropped_tracks(), 4u) << "each is counted once";
    // A composition time inside a track.
    parser = after("9068766331" + kHevcConfig);
    result = parser.video(body("96 11 68766331 00 000009 000028 00000002 2801 01 000001 cc"), 0);
    ASSERT_TRUE(result && result->frame);
    EXPECT_EQ(media::to_ms(result->frame->cts), 40);
    EXPECT_EQ(result->frame->payload, body("00000002 2801"));
    EXPECT_FALSE(parser.video(body("96 11 68766331 00 000002 0000 01 000001 cc"), 0));
}

TEST(Body, ATrackStandsInForTrackZeroUntilItComes) {
    BodyParser parser;
    EXPECT_EQ(frames_of(*parser.audio(body("95 00 6d703461 03 1210"), 0)), "0 1210H;");
    EXPECT_EQ(frames_of(*parser.audio(body("95 01 6d703461 01 aabb"), 0)), "1 aabb;");
    EXPECT_EQ(frames_of(*parser.audio(body("95 01 6d703461 03 aa"), 0)), "0 aa;");
    EXPECT_EQ(frames_of(*parser.audio(body("af 01 2117"), 0)), "3 1210H;0 2117;");
    EXPECT_EQ(frames_of(*parser.audio(body("95 01 6d703461 03 aa"), 0)), "3 aa;");
    EXPECT_EQ(frames_of(*parser.audio(body("95 01 6d703461 00 bb"), 0)), "0 bb;");
    EXPECT_EQ(frames_of(*parser.video(body("96 01 76703038 03 aabb"), 0)), "0 aabb;") << "video tracks are its own";
    EXPECT_EQ(frames_of(*parser.video(body("91 76703038 aabb"), 0)), "0 aabb;");
    EXPECT_EQ(frames_of(*parser.video(body("96 01 76703038 03 aabb"), 0)), "3 aabb;");
}

// Found by libFuzzer: there was a frame, and a reason why there is none.
TEST(Body, ABodyWithoutAFrameMayMoveATrack) {
    BodyParser parser;
    ASSERT_TRUE(parser.audio(body("95 00 6d703461 03 1210"), 0));
    auto result = parser.audio(body("af 01"), 0);
    ASSERT_TRUE(result);
    EXPECT_EQ(frames_of(*result), "3 1210H;");
    EXPECT_EQ(result->nothing, "");
    // What an invalid body moved does not come with a body of the other kind.
    parser = BodyParser();
    ASSERT_TRUE(parser.audio(body("95 00 6d703461 03 1210"), 0));
    EXPECT_FALSE(parser.audio(body("af 24 2117"), 0));
    EXPECT_EQ(frames_of(*parser.video(body("91 76703038 aabb"), 0)), "0 aabb;");
    EXPECT_EQ(frames_of(*parser.audio(body("af 01"), 0)), "3 1210H;");
}

// The header of a track that gets its own index is told after a defect, too.
TEST(Body, ADefectLosesNoHeader) {
    BodyParser parser;
    ASSERT_TRUE(parser.video(body("96 00 61766331 02" + kAvcConfig), 0));  // stands in for track 0
    ASSERT_FALSE(parser.video(body("96 00 7a7a7a7a 00 00"), 0));           // track 0, of an unknown codec
    EXPECT_EQ(frames_of(*parser.audio(body("af 00 1210"), 0)), "0 1210H;");
    auto result = parser.video(body("57 00"), 0);
    ASSERT_TRUE(result && result->frame);
    EXPECT_EQ(result->frame->track, 2);
    EXPECT_TRUE(result->frame->sequence_header);
}

TEST(Body, EachAudioTrackHasItsOwnClock) {
    BodyParser parser;
    ASSERT_TRUE(parser.audio(body("af 00 1210"), 0));              // 44.1 kHz
    ASSERT_TRUE(parser.audio(body("95 00 6d703461 01 1190"), 0));  // 48 kHz
    for (int64_t i = 0; i < 100; ++i) {
        auto first = parser.audio(body("af 01 21"), static_cast<uint32_t>(i * 1024 * 1000 / 44100));
        auto second = parser.audio(body("95 01 6d703461 01 21"), static_cast<uint32_t>(i * 1024 * 1000 / 48000));
        ASSERT_TRUE(first && second);
        EXPECT_LE(media::distance(first->frame->dts, media::from_ticks(i * 1024, 44100)), media::from_ms(1));
        EXPECT_LE(media::distance(second->frame->dts, media::from_ticks(i * 1024, 48000)), media::from_ms(1));
    }
}

TEST(Body, Data) {
    const std::string metadata = "02 000a 6f6e4d65746144617461 08 00000001 0005 7769647468 00 4088000000000000 000009";
    const std::string set = "02 000d 40736574446174614672616d65";
    for (const std::string& text : {metadata, set + metadata}) {
        for (bool amf3 : {false, true}) {
            auto result = BodyParser().data(body((amf3 ? "00" : "") + text), 9, amf3);
            ASSERT_TRUE(result) << result.error().text();
            ASSERT_TRUE(result->frame);
            EXPECT_EQ(result->frame->kind, Kind::kData);
            EXPECT_EQ(result->frame->codec, Codec::kAmf0);
            EXPECT_EQ(result->frame->payload, body(metadata)) << "byte for byte";
        }
    }
    std::string deep = "02 0001 " + text_of("x");
    for (int i = 0; i < 10000; ++i) deep += "0a00000001";
    auto result = BodyParser().data(body(deep + "05"), 0);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), base::Code::kLimit);
    EXPECT_NE(result.error().text().find("nested too deep"), std::string::npos);
}

TEST(Body, PayloadsShareTheBody) {
    Slice whole = body("17 01 000000 00000002 6588");
    BodyParser parser = after("1700000000" + kAvcConfig);
    auto result = parser.video(whole, 0);
    ASSERT_TRUE(result && result->frame);
    EXPECT_EQ(result->frame->payload.data(), whole.data() + 5);
}

}  // namespace flv
