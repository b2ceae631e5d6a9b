#include "service/http_live/encoders.h"

#include <gtest/gtest.h>

#include "live/hub/testing.h"

namespace service::http_live {
namespace {

using convert::FlvOptions;
using live::testing::audio;
using live::testing::header;
using live::testing::video;
using media::Kind;

base::Slice encode(live::WireEncoder& encoder, const media::Frame& frame) {
    base::SliceBuilder out;
    if (size_t size = encoder.encoded_size(frame)) encoder.encode(frame, out.extend(size));
    return out.freeze();
}

base::Slice prefix(live::WireEncoder& encoder, const live::StreamHeaders& headers, int64_t dts, bool first = true) {
    base::SliceBuilder out;
    encoder.encode_prefix(headers, dts, first, out);
    return out.freeze();
}

live::StreamHeaders& headers_with(live::StreamHeaders& headers, bool audio, bool video) {
    if (audio) headers.audio = header(Kind::kAudio, "\x12\x10");
    if (video) headers.video = header(Kind::kVideo, "avcC");
    headers.has_audio = audio;
    headers.has_video = video;
    return headers;
}

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
    live::StreamHeaders headers;
    headers_with(headers, true, true);
    for (size_t n : {10, 200, 70'000}) {
        auto frame = video(7, true, std::string(n, 'x'));
        auto inside = encode(*plain, frame), outside = encode(*framed, frame);
        size_t header_size = n == 10 ? 2 : n == 200 ? 4 : 10;
        ASSERT_EQ(outside.size(), header_size + inside.size());
        EXPECT_EQ(outside[0], 0x82);
        EXPECT_EQ(outside.sub(header_size), inside);
    }
    auto first = prefix(*framed, headers, 0);
    EXPECT_EQ(first.sub(2), prefix(*plain, headers, 0));
    EXPECT_EQ(first[1], first.size() - 2);
    auto audio_only = log_key(Format::kAac, {}, true).make_encoder();
    EXPECT_TRUE(prefix(*audio_only, headers, 0).empty());
}

}  // namespace
}  // namespace service::http_live
