#include "media/audio_headers.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"

namespace media {

using base::hex;

TEST(MpegAudio, ReadsFrameHeaders) {
    struct Case {
        const char* bytes;
        int version, layer, bitrate, rate, channels, samples;
        size_t size;
    };
    const Case cases[] = {
        {"fffb50c4", 1, 3, 64, 44100, 1, 1152, 208},  // from LAME
        {"fffb52c4", 1, 3, 64, 44100, 1, 1152, 209},  {"fffb9044", 1, 3, 128, 44100, 2, 1152, 417},
        {"fff38044", 2, 3, 64, 22050, 2, 576, 208},   {"ffe34044", 25, 3, 32, 11025, 2, 576, 208},
        {"fffda404", 1, 2, 192, 48000, 2, 1152, 576}, {"ffff1404", 1, 1, 32, 48000, 2, 384, 32},
    };
    for (const Case& c : cases) {
        auto h = parse_mpeg_audio(hex(c.bytes));
        ASSERT_TRUE(h) << c.bytes;
        EXPECT_EQ(h->version, c.version) << c.bytes;
        EXPECT_EQ(h->layer, c.layer) << c.bytes;
        EXPECT_EQ(h->bitrate, c.bitrate) << c.bytes;
        EXPECT_EQ(h->sample_rate, c.rate) << c.bytes;
        EXPECT_EQ(h->channels, c.channels) << c.bytes;
        EXPECT_EQ(h->samples, c.samples) << c.bytes;
        EXPECT_EQ(h->frame_size, c.size) << c.bytes;
    }
    for (const char* bad : {"", "fffb50", "fefb5044", "ffe85044", "fff95044", "fffbf044", "fffb5c44"}) {
        EXPECT_FALSE(parse_mpeg_audio(hex(bad))) << bad;
    }
}

TEST(Opus, HeadBothWays) {
    auto head = parse_opus_head(hex("4f70757348656164 01 01 3801 80bb0000 0000 00"));
    ASSERT_TRUE(head);
    EXPECT_EQ(head->channels, 1);
    EXPECT_EQ(head->pre_skip, 312);
    EXPECT_EQ(head->input_sample_rate, 48000);
    EXPECT_EQ(make_opus_head(1, 312, 48000), base::Slice::copy(hex("4f70757348656164 01 01 3801 80bb0000 0000 00")));
    EXPECT_FALSE(parse_opus_head(hex("4f70757348656164 01 01")));
    EXPECT_FALSE(parse_opus_head(hex("4f70757348656165 01 01 3801 80bb0000 0000 00")));
    EXPECT_FALSE(parse_opus_head(hex("4f70757348656164 01 00 3801 80bb0000 0000 00")));
    EXPECT_FALSE(parse_opus_head(hex("4f70757348656164 11 01 3801 80bb0000 0000 00")));
}

TEST(Opus, Packets) {
    struct Case {
        const char* bytes;
        int channels, frames, us;
    };
    const Case cases[] = {
        {"f872", 1, 1, 20000},  // CELT 20 ms
        {"fc72", 2, 1, 20000}, {"e072", 1, 1, 2500},  {"f972", 1, 2, 40000},
        {"fb03", 1, 3, 60000}, {"0800", 1, 1, 20000},  // SILK
        {"1800", 1, 1, 60000}, {"6800", 1, 1, 20000},  // hybrid
        {"fb3f", 0, 0, 0},                             // 63 frames of 20 ms
        {"fb00", 0, 0, 0},     {"fb", 0, 0, 0},       {"", 0, 0, 0},
    };
    for (const Case& c : cases) {
        auto p = parse_opus_packet(hex(c.bytes));
        ASSERT_EQ(p.has_value(), c.channels > 0) << c.bytes;
        if (!p) continue;
        EXPECT_EQ(p->channels, c.channels) << c.bytes;
        EXPECT_EQ(p->frames, c.frames) << c.bytes;
        EXPECT_EQ(p->duration_us, c.us) << c.bytes;
    }
}

TEST(Flac, ReadsStreamInfo) {
    const char* info = "0400 0400 000000 000815 0bb800f0 00000000 00000000000000000000000000000000";
    for (std::string front : {"", "00000022", "664c6143 00000022", "664c6143"}) {
        auto config = parse_flac_config(hex(front + info));
        ASSERT_TRUE(config) << front;
        EXPECT_EQ(config->sample_rate, 48000);
        EXPECT_EQ(config->channels, 1);
        EXPECT_EQ(config->bits_per_sample, 16);
    }
    EXPECT_FALSE(parse_flac_config(hex("664c6143 00000022 0400")));
    EXPECT_FALSE(parse_flac_config(std::vector<uint8_t>(34)));
}

TEST(Ac3, ReadsBothKinds) {
    auto ac3 = parse_ac3(hex("0b77480d0c402f842bc1"));
    ASSERT_TRUE(ac3);
    EXPECT_FALSE(ac3->enhanced);
    EXPECT_EQ(ac3->sample_rate, 48000);
    EXPECT_EQ(ac3->channels, 1);
    EXPECT_EQ(ac3->frame_size, 384u);
    auto eac3 = parse_ac3(hex("0b7700bf3287c0002106"));
    ASSERT_TRUE(eac3);
    EXPECT_TRUE(eac3->enhanced);
    EXPECT_EQ(eac3->sample_rate, 48000);
    EXPECT_EQ(eac3->channels, 1);
    EXPECT_EQ(eac3->frame_size, 384u);
    auto surround = parse_ac3(hex("0b770000 1e40e1df"));  // 448 kbit/s, 3/2 with LFE
    ASSERT_TRUE(surround);
    EXPECT_EQ(surround->channels, 6);
    EXPECT_EQ(surround->frame_size, 1792u);
    for (const char* bad : {"", "0b77", "0a77480d0c402f84", "0b77480dff402f84"})
        EXPECT_FALSE(parse_ac3(hex(bad))) << bad;
}

}  // namespace media
