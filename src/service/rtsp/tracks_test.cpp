#include "service/rtsp/tracks.h"

#include <gtest/gtest.h>

#include "service/rtsp/address.h"
#include "service/rtsp/interleaved.h"

namespace service::rtsp {
namespace {

using media::Codec;
using media::Kind;

TEST(PlayKey, SurvivesTheLogKey) {
    const PlayTrack tracks[] = {{Kind::kVideo, 0, Codec::kH264, 96, 0},
                                {Kind::kVideo, 7, Codec::kAv1, 127, 254},
                                {Kind::kAudio, 3, Codec::kPcmUlaw, 0, 200},
                                {Kind::kAudio, 0, Codec::kAac, 97, 6}};
    for (size_t count = 0; count <= kMaxPlayTracks; ++count) {
        PlayKey key;
        for (size_t i = 0; i < count; ++i) key.add(tracks[i]);
        const PlayKey again(key.log_key());
        ASSERT_EQ(again.size(), count);
        for (size_t i = 0; i < count; ++i) EXPECT_EQ(again[i], tracks[i]) << "track " << i << " of " << count;
    }
}

TEST(PlayKey, HasNoMoreThanItsTracks) {
    PlayKey key;
    for (size_t i = 0; i < kMaxPlayTracks + 2; ++i) key.add({Kind::kVideo, 0, Codec::kH264, 96, 0});
    EXPECT_EQ(key.size(), kMaxPlayTracks);
}

TEST(PlayKey, CommonChannelsAreThoseOfTheOrder) {
    PlayKey key;
    key.add({Kind::kVideo, 0, Codec::kH264, 96, 0});
    key.add({Kind::kAudio, 0, Codec::kAac, 97, 2});
    EXPECT_TRUE(key.is_common());
    key.add({Kind::kAudio, 1, Codec::kAac, 98, 6});
    EXPECT_FALSE(key.is_common());
}

TEST(RtspAddress, SplitsTheTrackFromTheUrl) {
    const struct {
        const char *url, *base;
        std::optional<size_t> track;
    } cases[] = {
        {"rtsp://h/a/s", "rtsp://h/a/s", {}},
        {"rtsp://h/a/s/", "rtsp://h/a/s", {}},
        {"rtsp://h/a/s/trackID=1", "rtsp://h/a/s", 1},
        {"rtsp://h/a/s/?k=v/trackID=12", "rtsp://h/a/s/?k=v", 12},
        {"rtsp://h/a/s?k=a/b/trackID=0", "rtsp://h/a/s?k=a/b", 0},
        {"rtsp://h/a/s/trackID=0?k=a/b", "rtsp://h/a/s?k=a/b", 0},
        {"rtsp://h/a/s/trackID=1?k=v/", "rtsp://h/a/s?k=v", 1},
        {"rtsp://h/a/s/trackID=1/", "rtsp://h/a/s", 1},
        {"rtsp://h/a/s?k=v/", "rtsp://h/a/s?k=v", {}},
        {"rtsp://h/a/s?k=/trackID=x", "rtsp://h/a/s?k=/trackID=x", {}},
        {"rtsp://h/a/trackID=", "rtsp://h/a/trackID=", {}},
        {"rtsp://h/a/trackID=99999999999999999999", "rtsp://h/a/trackID=99999999999999999999", {}},
        {"*", "*", {}},
        {"", "", {}},
    };
    for (const auto& one : cases) {
        const TrackUrl split = split_track(one.url);
        EXPECT_EQ(split.base, one.base) << one.url;
        EXPECT_EQ(split.track, one.track) << one.url;
    }
}

TEST(RtspAddress, ResolvesVhostAppAndStream) {
    auto address = resolve("rtsp://Host.example:8554/a/b/s?vhost=v&token=1");
    ASSERT_TRUE(address) << address.error().text();
    EXPECT_EQ(address->vhost + " " + address->app + " " + address->stream + " " + address->params, "v a/b s ?token=1");
    address = resolve("RTSPS://h/a/s");
    ASSERT_TRUE(address) << address.error().text();
    EXPECT_EQ(address->app + " " + address->stream, "a s");
    for (const char* bad : {"", "*", "rtsp://", "rtsp://h", "rtsp://h/", "rtsp://h/s", "rtsp://h/a/", "http://h/a/s",
                            "rtsp://h/?a/s", "/a/s"})
        EXPECT_FALSE(resolve(bad)) << bad;
}

}  // namespace
}  // namespace service::rtsp
