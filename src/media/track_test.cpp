#include "media/track.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"

namespace media {

namespace {

using base::hex;

Frame frame_of(Kind kind, Codec codec, bool sequence_header, const char* payload) {
    Frame frame;
    frame.kind = kind;
    frame.codec = codec;
    frame.sequence_header = sequence_header;
    frame.payload = base::Slice::copy(hex(payload));
    return frame;
}
}  // namespace

TEST(Track, VideoInfo) {
    struct Case {
        Codec codec;
        bool sequence_header;
        const char* payload;
        const char* profile;
        const char* level;
        int width, height;
    };
    const Case cases[] = {
        {Codec::kH264, true, "01640020ffe1001967640020acd940c029b011000003000100000300320f18319601000568ebecb22c",
         "High", "3.2", 768, 320},
        {Codec::kH264, false, "000000016588", "", "", 0, 0},
        {Codec::kAv1, true, "81000c000a0b0200000561e7f66017c002", "Main", "2.0", 320, 180},
        {Codec::kAv1, false, "12000a0b0200000561e7f66357cc02", "Main", "2.0", 320, 180},
        {Codec::kVp9, true, "01000000000b820202020000", "0", "1.1", 0, 0},
        {Codec::kVp9, false, "824983420013f00b360438241c18", "0", "", 320, 180},
        {Codec::kVp8, false, "b043009d012ab000900007", "0", "", 176, 144},
        {Codec::kH263, false, "0000", "", "", 0, 0},
    };
    for (const Case& c : cases) {
        auto info = video_info(frame_of(Kind::kVideo, c.codec, c.sequence_header, c.payload));
        ASSERT_TRUE(info) << c.payload << info.error().text();
        EXPECT_EQ(info->codec, c.codec);
        EXPECT_EQ(info->profile, c.profile);
        EXPECT_EQ(info->level, c.level);
        EXPECT_EQ(info->width, c.width);
        EXPECT_EQ(info->height, c.height);
        EXPECT_EQ(info->nalu_length_size, 4);
    }
}

TEST(Track, AudioInfo) {
    struct Case {
        Codec codec;
        bool sequence_header;
        const char* payload;
        const char* profile;
        int rate, channels;
    };
    const Case cases[] = {
        {Codec::kAac, true, "1210", "LC", 44100, 2},
        {Codec::kAac, false, "2117", "", 0, 0},
        {Codec::kMp3, false, "fffb9044", "", 44100, 2},
        {Codec::kOpus, true, "4f707573486561640101380180bb0000000000", "", 48000, 1},
        {Codec::kOpus, false, "fc72", "", 48000, 2},
        {Codec::kFlac, true, "664c6143040004000000000008150bb800f00000000000000000000000000000000000000000", "", 48000,
         1},
        {Codec::kAc3, false, "0b77480d0c402f842bc1", "", 48000, 1},
        {Codec::kEac3, false, "0b7700bf3287c0002106", "", 48000, 1},
    };
    for (const Case& c : cases) {
        auto info = audio_info(frame_of(Kind::kAudio, c.codec, c.sequence_header, c.payload));
        ASSERT_TRUE(info) << c.payload << info.error().text();
        EXPECT_EQ(info->profile, c.profile);
        EXPECT_EQ(info->sample_rate, c.rate);
        EXPECT_EQ(info->channels, c.channels);
    }
}

TEST(Track, AMalformedHeaderNamesTheCodec) {
    auto video = video_info(frame_of(Kind::kVideo, Codec::kH264, true, "0164"));
    ASSERT_FALSE(video);
    EXPECT_EQ(video.error().text(), "H264: AVC configuration of 2 bytes");
    auto audio = audio_info(frame_of(Kind::kAudio, Codec::kAac, true, "12"));
    ASSERT_FALSE(audio);
    EXPECT_EQ(audio.error().text(), "AAC: AAC configuration of 1 bytes");
}

}  // namespace media
