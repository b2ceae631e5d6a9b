#include "media/aac.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"

namespace media {

using base::hex;

TEST(Aac, ReadsConfigurations) {
    struct Case {
        const char* bytes;
        const char* profile;
        int core_rate, output_rate, channels, samples;
    };
    const Case cases[] = {
        {"1210", "LC", 44100, 44100, 2, 1024},
        {"1188 56e500", "LC", 48000, 48000, 1, 1024},  // the extension signals: no SBR
        {"1190", "LC", 48000, 48000, 2, 1024},
        {"13900000", "LC", 22050, 22050, 2, 1024},
        {"1214", "LC", 44100, 44100, 2, 960},
        {"2b920800", "HE", 22050, 44100, 2, 1024},    // hierarchical
        {"eb8a0800", "HEv2", 22050, 44100, 2, 1024},  // hierarchical, with PS
        {"139056e5a0", "HE", 22050, 44100, 2, 1024},  // backward compatible
        {"138856e5a54880", "HEv2", 22050, 44100, 2, 1024},
        {"1780 55f0 80", "", 0, 0, 0, 0},
        {"1238", "LC", 44100, 44100, 8, 1024},  // 7.1
        {"1200 050848 00", "", 0, 0, 0, 0},
        {"0a10", "Main", 44100, 44100, 2, 1024},
        {"0080", "", 0, 0, 0, 0},  // object type 0
        {"1690", "", 0, 0, 0, 0},  // reserved rate
        {"12", "", 0, 0, 0, 0},
        {"", "", 0, 0, 0, 0},
    };
    for (const Case& c : cases) {
        auto config = parse_aac_config(hex(c.bytes));
        if (c.core_rate == 0) {
            EXPECT_FALSE(config) << c.bytes;
            continue;
        }
        ASSERT_TRUE(config) << c.bytes << config.error().text();
        EXPECT_EQ(aac_profile_name(*config), c.profile) << c.bytes;
        EXPECT_EQ(config->core_sample_rate, c.core_rate) << c.bytes;
        EXPECT_EQ(config->output_sample_rate, c.output_rate) << c.bytes;
        EXPECT_EQ(config->output_channels(), c.channels) << c.bytes;
        EXPECT_EQ(config->samples_per_frame, c.samples) << c.bytes;
    }
}

// A program_config_element with a front single and pair, a back pair, one LFE, and a comment: 5.1.
TEST(Aac, ChannelsOfAProgramConfig) {
    auto bytes = hex("120005080500010880024142");
    auto config = parse_aac_config(bytes);
    ASSERT_TRUE(config) << config.error().text();
    EXPECT_EQ(config->channels, 6);
    for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(parse_aac_config({bytes.data(), n})) << n;
}

TEST(Aac, WritesConfigurations) {
    EXPECT_EQ(make_aac_config(2, 44100, 2), base::Slice::copy(hex("1210")));
    EXPECT_EQ(make_aac_config(2, 48000, 1), base::Slice::copy(hex("1188")));
    base::Slice odd = make_aac_config(2, 44000, 2);
    auto config = parse_aac_config(odd);
    ASSERT_TRUE(config);
    EXPECT_EQ(config->core_sample_rate, 44000);
    EXPECT_EQ(config->channels, 2);
}

TEST(Adts, ReadsARealHeader) {
    auto h = parse_adts(hex("fff15080145ffc de02004c"));
    ASSERT_TRUE(h);
    EXPECT_EQ(h->object_type, 2);
    EXPECT_EQ(h->sample_rate, 44100);
    EXPECT_EQ(h->channel_config, 2);
    EXPECT_EQ(h->header_size, 7u);
    EXPECT_EQ(h->frame_size, 162u);
    EXPECT_EQ(h->raw_blocks, 1);
}

TEST(Adts, WritesWhatItReads) {
    auto config = parse_aac_config(hex("1210"));
    for (size_t size : {0ul, 1ul, 155ul, 8184ul}) {
        uint8_t out[kAdtsHeaderSize];
        ASSERT_TRUE(put_adts_header(*config, size, out));
        auto h = parse_adts(out);
        ASSERT_TRUE(h);
        EXPECT_EQ(h->frame_size, size + 7);
        EXPECT_EQ(h->sample_rate, 44100);
        EXPECT_EQ(h->channel_config, 2);
        EXPECT_EQ(h->object_type, 2);
    }
    uint8_t out[kAdtsHeaderSize];
    EXPECT_FALSE(put_adts_header(*config, 8185, out));
    EXPECT_FALSE(put_adts_header(*config, SIZE_MAX, out));
}

TEST(Adts, RefusesMalformedInput) {
    EXPECT_FALSE(parse_adts(hex("fff15080145f")));
    EXPECT_FALSE(parse_adts(hex("fef15080145ffc")));
    EXPECT_FALSE(parse_adts(hex("fff17c80145ffc")));   // reserved rate
    EXPECT_FALSE(parse_adts(hex("fff1508000 1ffc")));  // shorter than its header
}

}  // namespace media
