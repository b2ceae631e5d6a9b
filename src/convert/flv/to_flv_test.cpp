#include "convert/flv/to_flv.h"

#include <gtest/gtest.h>

#include "live/fanout/encoder_testing.h"
#include "protocol/flv/metadata.h"
#include "protocol/flv/reader.h"

namespace convert {
namespace {

using live::testing::audio;
using live::testing::encode;
using live::testing::prefix;
using live::testing::tracks_with;
using live::testing::video;
using media::Kind;

TEST(FlvEncoder, KeysContainTheOptions) {
    for (int bits = 0; bits < 16; ++bits) {
        FlvOptions options{bool(bits & 8), bool(bits & 1), bool(bits & 2), bool(bits & 4)};
        FlvOptions back = FlvOptions::of(options.bits());
        EXPECT_EQ(back.guess, options.guess);
        if (options.guess) continue;
        EXPECT_EQ(back.has_audio, options.has_audio);
        EXPECT_EQ(back.has_video, options.has_video);
        EXPECT_EQ(back.drop_if_not_match, options.drop_if_not_match);
    }
}

TEST(FlvEncoder, FileHeaderAndWhatIsCarried) {
    struct {
        FlvOptions options;  // guess, audio, video, drop
        bool audio, video;   // the stream's tracks
        uint8_t flags;
        bool carries_audio, carries_video;
    } table[] = {
        {{true, true, true, true}, true, true, 5, true, true},
        {{true, true, true, true}, true, false, 4, true, true},
        {{true, true, true, true}, false, true, 1, true, true},
        {{true, false, false, true}, true, true, 5, true, true},
        {{false, true, true, true}, true, false, 5, true, true},
        {{false, false, true, true}, true, true, 1, false, true},
        {{false, true, false, true}, true, true, 4, true, false},
        {{false, false, true, false}, true, true, 1, true, true},
    };
    for (auto& row : table) {
        FlvEncoder encoder(row.options);
        media::TrackSet tracks;
        auto bytes = prefix(encoder, tracks_with(tracks, row.audio, row.video), 5000);
        ASSERT_GE(bytes.size(), 13u);
        EXPECT_EQ(bytes[4], row.flags) << row.options.bits();
        EXPECT_EQ(encoder.carries(Kind::kAudio), row.carries_audio) << row.options.bits();
        EXPECT_EQ(encoder.carries(Kind::kVideo), row.carries_video) << row.options.bits();
        EXPECT_EQ(encode(encoder, audio(1)).empty(), !row.carries_audio);
        EXPECT_EQ(encode(encoder, video(1)).empty(), !row.carries_video);
    }
}

TEST(FlvEncoder, MetadataAnnouncesTracksOfANewStream) {
    FlvEncoder encoder(FlvOptions{});
    media::TrackSet tracks;
    tracks_with(tracks, false, true);
    media::VideoInfo video_info;
    video_info.codec = media::Codec::kH264;
    media::AudioInfo audio_info;
    audio_info.codec = media::Codec::kMp3;
    tracks.update(live::testing::metadata());
    tracks.metadata->payload = flv::make_metadata(&video_info, &audio_info, "test");
    encoder.set_tracks(tracks);
    EXPECT_TRUE(encoder.awaits_tracks());
    EXPECT_EQ(prefix(encoder, tracks, 0)[4], 5);
    // It does not come.
    encoder.stop_awaiting();
    EXPECT_FALSE(encoder.awaits_tracks());
    EXPECT_EQ(prefix(encoder, tracks, 1'000)[4], 1);
    // It comes behind the frame that a viewer begins with.
    media::TrackSet later = tracks;
    tracks_with(later, true, true);
    encoder.set_tracks(later);
    EXPECT_FALSE(encoder.awaits_tracks());
    EXPECT_EQ(prefix(encoder, tracks, 0)[4], 5);
    // The operator says what there is.
    FlvEncoder told(FlvOptions{.guess = false, .has_audio = false});
    told.set_tracks(tracks);
    EXPECT_FALSE(told.awaits_tracks());
}

// With another time of the metadata, FFmpeg shows a track of subtitles.
TEST(FlvEncoder, MetadataHasTimeZero) {
    FlvEncoder encoder(FlvOptions{});
    media::TrackSet tracks;
    tracks.update(live::testing::metadata());
    tracks_with(tracks, false, true);
    flv::Reader reader;
    reader.feed(prefix(encoder, tracks, 1234));
    media::Frame later = live::testing::metadata("x");
    later.dts = media::from_ms(5678);
    reader.feed(encode(encoder, later));
    media::Frame cue = later;
    cue.sequence_header = false;
    cue.payload = base::Slice::copy(std::string_view("\x02\x00\x0aonCuePoint", 13));
    reader.feed(encode(encoder, cue));
    for (auto [type, timestamp] : {std::pair{18, 0u}, {9, 1234u}, {18, 0u}, {18, 5678u}}) {
        auto tag = reader.next();
        ASSERT_TRUE(tag && *tag);
        EXPECT_EQ((*tag)->type, type);
        EXPECT_EQ((*tag)->timestamp, timestamp);
    }
}

TEST(FlvEncoder, TagsComeBackAsTheyWere) {
    FlvEncoder encoder(FlvOptions{});
    media::TrackSet tracks;
    flv::Reader reader;
    reader.feed(prefix(encoder, tracks_with(tracks, true, true), 0x12345678));
    reader.feed(encode(encoder, video(0x12345678, true, "frame")));
    reader.feed(encode(encoder, audio(0x12345679, "sound")));
    struct {
        uint8_t type;
        uint32_t timestamp;
        std::string_view end;
    } expected[] = {
        {9, 0x12345678, "avcC"}, {8, 0x12345678, "\x12\x10"}, {9, 0x12345678, "frame"}, {8, 0x12345679, "sound"}};
    for (auto& row : expected) {
        auto tag = reader.next();
        ASSERT_TRUE(tag && *tag);
        EXPECT_EQ((*tag)->type, row.type);
        EXPECT_EQ((*tag)->timestamp, row.timestamp);
        EXPECT_TRUE((*tag)->body.text().ends_with(row.end));
    }
    EXPECT_EQ(reader.buffered(), 4u);  // the last previous-tag-size
    EXPECT_FALSE(prefix(encoder, tracks, 0, false).text().starts_with("FLV"));
}

TEST(FlvEncoder, LeavesOutWhatDoesNotFitATag) {
    FlvEncoder encoder(FlvOptions{});
    EXPECT_EQ(encoder.encoded_size(video(0, true, std::string(0xffffff, 'x'))), 0u);
}

}  // namespace
}  // namespace convert
