#include "protocol/flv/metadata.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/hex_testing.h"
#include "protocol/amf/amf0.h"
#include "protocol/flv/body.h"

namespace flv {

using amf::Value;
using base::Slice;
using media::Codec;

namespace {

Slice payload_of(const Value& name, const Value& value) {
    std::vector<uint8_t> out;
    base::ByteWriter writer(out);
    amf::encode_amf0(name, writer);
    amf::encode_amf0(value, writer);
    return Slice::copy(out);
}

}  // namespace

TEST(Metadata, ReadsWhatFfmpegSends) {
    auto m = read_metadata(payload_of("onMetaData", Value::ecma_array({{"duration", 11.44},
                                                                       {"width", 768},
                                                                       {"height", 320},
                                                                       {"videodatarate", 207.25},
                                                                       {"framerate", 25},
                                                                       {"videocodecid", 7},
                                                                       {"audiosamplerate", 44100},
                                                                       {"stereo", true},
                                                                       {"audiocodecid", 10},
                                                                       {"encoder", "Lavf58.76.100"}})));
    ASSERT_TRUE(m);
    EXPECT_EQ(m->width, 768);
    EXPECT_EQ(m->height, 320);
    EXPECT_EQ(m->framerate, 25);
    EXPECT_EQ(m->video_data_rate, 207.25);
    EXPECT_EQ(m->video_codec, Codec::kH264);
    EXPECT_EQ(m->audio_codec, Codec::kAac);
    EXPECT_EQ(m->audio_channels, 2);
    EXPECT_TRUE(m->has_video);
    EXPECT_TRUE(m->has_audio);
    EXPECT_EQ(m->encoder, "Lavf58.76.100");
}

TEST(Metadata, CodecsByFourCcAndText) {
    auto m = read_metadata(
        payload_of("onMetaData", Value::object({{"videocodecid", 0x68766331}, {"audiocodecid", "Opus"}})));
    ASSERT_TRUE(m);
    EXPECT_EQ(m->video_codec, Codec::kHevc);
    EXPECT_EQ(m->audio_codec, Codec::kOpus);
}

TEST(Metadata, NonsenseBecomesNothing) {
    auto m = read_metadata(payload_of("onMetaData", Value::object({{"width", -5},
                                                                   {"height", "tall"},
                                                                   {"framerate", 0.0 / 0.0},
                                                                   {"audiocodecid", 1e300},
                                                                   {"hasVideo", false}})));
    ASSERT_TRUE(m);
    EXPECT_EQ(m->width, 0);
    EXPECT_EQ(m->height, 0);
    EXPECT_EQ(m->framerate, 0);
    EXPECT_FALSE(m->audio_codec);
    EXPECT_FALSE(m->has_video);
    EXPECT_FALSE(m->has_audio);
    EXPECT_TRUE(read_metadata(Slice::copy(base::hex("02000a6f6e4d65746144617461"))));
}

TEST(Metadata, KnowsItsName) {
    auto parsed = [](const Slice& payload) { return BodyParser().data(payload, 0); };
    EXPECT_TRUE(is_metadata(*parsed(payload_of("onMetaData", 1))->frame));
    EXPECT_FALSE(is_metadata(*parsed(payload_of("onTextData", 1))->frame));
    EXPECT_FALSE(parsed(payload_of(1, 1)));
    EXPECT_FALSE(read_metadata(payload_of("onTextData", 1)));
    EXPECT_FALSE(read_metadata(Slice()));
}

TEST(Metadata, MaySayThatTimesAreAbsolute) {
    for (bool says : {false, true}) {
        const Slice payload = payload_of("onMetaData", Value::ecma_array({{says ? "bravo_atc" : "width", true}}));
        auto parsed = BodyParser().data(payload, 0);
        EXPECT_EQ(says_absolute_times(*parsed->frame), says);
    }
}

TEST(Metadata, WritesWhatItReads) {
    media::VideoInfo video;
    video.codec = Codec::kAv1;
    video.width = 1920;
    video.height = 1080;
    media::AudioInfo audio;
    audio.codec = Codec::kAac;
    audio.sample_rate = 48000;
    audio.channels = 2;
    Slice payload = make_metadata(&video, &audio, "test");
    EXPECT_TRUE(is_metadata(*BodyParser().data(payload, 0)->frame));
    auto m = read_metadata(payload);
    ASSERT_TRUE(m);
    EXPECT_EQ(m->width, 1920);
    EXPECT_EQ(m->video_codec, Codec::kAv1);
    EXPECT_EQ(m->audio_codec, Codec::kAac);
    EXPECT_EQ(m->audio_sample_rate, 48000);
    EXPECT_EQ(m->audio_channels, 2);
    m = read_metadata(make_metadata(nullptr, &audio, "test"));
    ASSERT_TRUE(m);
    EXPECT_FALSE(m->has_video);
    EXPECT_TRUE(m->has_audio);
}

}  // namespace flv
