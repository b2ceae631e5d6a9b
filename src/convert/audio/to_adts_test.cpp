#include "convert/audio/to_adts.h"

#include <gtest/gtest.h>

#include "live/fanout/encoder_testing.h"
#include "media/aac.h"

namespace convert {
namespace {

using live::testing::audio;
using live::testing::encode;
using live::testing::prefix;
using live::testing::tracks_with;
using live::testing::video;
using media::Kind;

TEST(AdtsEncoder, NeedsTheConfiguration) {
    auto encoder = std::make_unique<AdtsEncoder>();
    EXPECT_EQ(encoder->encoded_size(audio(0)), 0u);
    media::TrackSet tracks;
    encoder->set_tracks(tracks_with(tracks, true, true));
    auto bytes = encode(*encoder, audio(0, std::string(100, 'a')));
    auto adts = media::parse_adts(bytes);
    ASSERT_TRUE(adts);
    EXPECT_EQ(adts->frame_size, 107u);
    EXPECT_EQ(adts->sample_rate, 44100);
    EXPECT_EQ(adts->channel_config, 2);
    EXPECT_TRUE(encode(*encoder, *tracks.config(media::Kind::kAudio)).empty());
    EXPECT_TRUE(encode(*encoder, video(0)).empty());
    EXPECT_TRUE(encode(*encoder, audio(0, std::string(9000, 'a'))).empty());
    EXPECT_TRUE(prefix(*encoder, tracks, 0).empty());
    EXPECT_FALSE(encoder->carries(Kind::kVideo));
}

TEST(Mp3Encoder, PassesFramesOn) {
    auto encoder = std::make_unique<Mp3Encoder>();
    media::Frame frame = audio(0, "\xff\xfb mp3");
    EXPECT_TRUE(encode(*encoder, frame).empty());
    frame.codec = media::Codec::kMp3;
    EXPECT_EQ(encode(*encoder, frame).text(), "\xff\xfb mp3");
}

}  // namespace
}  // namespace convert
