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

// The audio of one codec, in this track.
media::Frame of(media::Codec codec, uint8_t track, const std::string& payload, bool is_header = false) {
    media::Frame frame = audio(0, payload);
    frame.codec = codec;
    frame.track = track;
    frame.sequence_header = is_header;
    return frame;
}

TEST(AudioEncoders, TheFirstTrackOfTheCodecCounts) {
    const std::string mp3_frame = "\xff\xfb mp3";
    media::TrackSet tracks;
    tracks.update(of(media::Codec::kSpeex, 0, "speex"));
    tracks.update(of(media::Codec::kAac, 1, "\x12\x10", true));
    tracks.update(of(media::Codec::kMp3, 2, mp3_frame));
    tracks.update(of(media::Codec::kAac, 3, "\x11\x88", true));
    AdtsEncoder adts;
    Mp3Encoder mp3;
    adts.set_tracks(tracks);
    mp3.set_tracks(tracks);
    EXPECT_EQ(adts.first_track(Kind::kAudio), 1);
    EXPECT_EQ(mp3.first_track(Kind::kAudio), 2);
    auto parsed = media::parse_adts(encode(adts, of(media::Codec::kAac, 1, "aac")));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->sample_rate, 44100) << "the configuration of track 1, not of 3";
    EXPECT_TRUE(encode(adts, of(media::Codec::kAac, 3, "aac")).empty());
    EXPECT_EQ(encode(mp3, of(media::Codec::kMp3, 2, mp3_frame)).text(), mp3_frame);
    EXPECT_TRUE(encode(mp3, of(media::Codec::kMp3, 0, mp3_frame)).empty());
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
