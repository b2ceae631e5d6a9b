#include "server/reports/stream_report.h"

#include <gtest/gtest.h>

namespace server {
namespace {

service::StreamView view() {
    service::StreamView stream;
    auto& video = stream.video.emplace();
    video.codec = media::Codec::kH264;
    video.profile = "High";
    video.width = 1280;
    video.height = 720;
    auto& audio = stream.audio.emplace();
    audio.codec = media::Codec::kAac;
    audio.profile = "LC";
    audio.sample_rate = 44'100;
    audio.channels = 2;
    stream.frame_rate = 25.04;
    stream.gop_ms = 2'000;
    return stream;
}

TEST(StreamReport, DescribesTracks) {
    service::StreamView stream = view();
    EXPECT_EQ(describe_tracks(stream), "H.264 High 1280x720 25 fps, AAC 44.1 kHz stereo, GOP 2 s");
    EXPECT_EQ(describe_codecs(stream), "H.264 High 1280x720, AAC 44.1 kHz stereo");
    stream.frame_rate = 29.97;
    stream.gop_ms = 1'520;
    stream.audio->channels = 1;
    stream.audio->sample_rate = 48'000;
    stream.video->profile.clear();
    EXPECT_EQ(describe_tracks(stream), "H.264 1280x720 30 fps, AAC 48 kHz mono, GOP 1.5 s");
    stream.audio->channels = 6;
    stream.tracks.resize(3);
    EXPECT_EQ(describe_codecs(stream), "H.264 1280x720, AAC 48 kHz 6 channels, 3 tracks");
}

TEST(StreamReport, LeavesOutWhatIsNotKnown) {
    service::StreamView stream;
    EXPECT_EQ(describe_tracks(stream), "");
    stream.audio.emplace().codec = media::Codec::kOpus;
    EXPECT_EQ(describe_tracks(stream), "Opus");
    stream.audio.reset();
    stream.video.emplace().codec = media::Codec::kHevc;
    EXPECT_EQ(describe_tracks(stream), "HEVC");
}

TEST(StreamReport, DescribesFigures) {
    service::StreamView stream = view();
    stream.rates = {.received = 2'512, .sent = 7'536};
    stream.players = 3;
    EXPECT_EQ(describe_figures(stream, 2), "in 2512 kbit/s, 3 players, out 7536 kbit/s, 2 drops");
    stream.players = 1;
    EXPECT_EQ(describe_figures(stream, 1), "in 2512 kbit/s, 1 player, out 7536 kbit/s, 1 drop");
    stream.players = 0;
    EXPECT_EQ(describe_figures(stream, 0), "in 2512 kbit/s, 0 players, out 7536 kbit/s, 0 drops");
}

}  // namespace
}  // namespace server
