#include "service/http_live/encoders.h"

#include <gtest/gtest.h>

#include "live/fanout/encoder_testing.h"

namespace service::http_live {
namespace {

using convert::FlvOptions;
using live::testing::encode;
using live::testing::prefix;
using live::testing::tracks_with;
using live::testing::video;

TEST(LogKeys, AreEqualWhereTheBytesAre) {
    FlvOptions guess, also_guess, keep;
    also_guess.has_audio = false;  // not used while guess is on
    keep.guess = keep.drop_if_not_match = false;
    EXPECT_EQ(log_key(Format::kFlv, guess, false), log_key(Format::kFlv, also_guess, false));
    EXPECT_NE(log_key(Format::kFlv, guess, false), log_key(Format::kFlv, keep, false));
    EXPECT_NE(log_key(Format::kFlv, guess, false), log_key(Format::kFlv, guess, true));
    EXPECT_EQ(log_key(Format::kTs, guess, true), log_key(Format::kTs, keep, true));
    EXPECT_EQ(log_key(Format::kTs, guess, true).format->protocol, "ws-ts");
    EXPECT_EQ(log_key(Format::kMp3, guess, false).format->protocol, "mp3");
}

TEST(WebSocketFraming, OneMessageAPacket) {
    auto plain = log_key(Format::kFlv, {}, false).make_encoder();
    auto framed = log_key(Format::kFlv, {}, true).make_encoder();
    media::TrackSet tracks;
    tracks_with(tracks, true, true);
    for (size_t n : {10, 200, 70'000}) {
        auto frame = video(7, true, std::string(n, 'x'));
        auto inside = encode(*plain, frame), outside = encode(*framed, frame);
        size_t header_size = n == 10 ? 2 : n == 200 ? 4 : 10;
        ASSERT_EQ(outside.size(), header_size + inside.size());
        EXPECT_EQ(outside[0], 0x82);
        EXPECT_EQ(outside.sub(header_size), inside);
    }
    auto first = prefix(*framed, tracks, 0);
    EXPECT_EQ(first.sub(2), prefix(*plain, tracks, 0));
    EXPECT_EQ(first[1], first.size() - 2);
    auto audio_only = log_key(Format::kAac, {}, true).make_encoder();
    EXPECT_TRUE(prefix(*audio_only, tracks, 0).empty());
}

}  // namespace
}  // namespace service::http_live
