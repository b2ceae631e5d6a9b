#include "convert/flv/to_rtmp.h"

#include <gtest/gtest.h>

#include "live/hub/testing.h"
#include "protocol/rtmp/chunk_reader.h"

namespace convert {
namespace {

struct MessageText : rtmp::MessageSink {
    std::string text;
    base::Result<bool> on_message(rtmp::Message& m) override {
        text += fmt::format("{}/{}@{}:{};", m.type, m.stream_id, m.timestamp, m.payload.size());
        return true;
    }
};

// Set Chunk Size, with the size that was given to the encoder.
std::string read_back(std::span<const uint8_t> bytes, uint32_t chunk_size) {
    rtmp::ChunkReader reader;
    MessageText sink;
    std::vector<uint8_t> head{2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0};
    for (int shift : {24, 16, 8, 0}) head.push_back(static_cast<uint8_t>(chunk_size >> shift));
    EXPECT_TRUE(reader.feed(head, sink));
    EXPECT_TRUE(reader.feed(bytes, sink));
    EXPECT_EQ(reader.in_progress(), 0u);
    return sink.text;
}

std::string encode(live::WireEncoder& encoder, const media::Frame& frame, uint32_t chunk_size) {
    std::vector<uint8_t> out(encoder.encoded_size(frame));
    if (out.empty()) return "";
    encoder.encode(frame, out.data());
    return read_back(out, chunk_size);
}

TEST(RtmpEncoder, KeysDifferWhereParametersDo) {
    const live::LogKey key = RtmpParameters{4096, 3, true, true, false}.key();
    EXPECT_EQ(key.format->protocol, "rtmp");
    EXPECT_EQ(key, (RtmpParameters{4096, 3, true, true, false}.key()));
    for (const RtmpParameters& other : {RtmpParameters{4097, 3, true, true, false},
                                        {4096, 4, true, true, false},
                                        {4096, 3, false, true, false},
                                        {4096, 3, true, false, false},
                                        {4096, 3, true, true, true}})
        EXPECT_NE(other.key(), key);
}

TEST(RtmpEncoder, Frames) {
    using live::testing::audio;
    using live::testing::video;
    for (uint32_t chunk_size : {128u, 60000u}) {
        auto encoder = RtmpParameters{chunk_size, 7, true, true}.key().make_encoder();
        EXPECT_EQ(encode(*encoder, video(40, true, std::string(1000, 'v')), chunk_size), "9/7@40:1005;");
        EXPECT_EQ(encode(*encoder, audio(50, std::string(200, 'a')), chunk_size), "8/7@50:202;");
        EXPECT_EQ(encode(*encoder, live::testing::metadata(), chunk_size), "18/7@0:13;");
        EXPECT_EQ(encode(*encoder, video(0x1000000, true, std::string(1000, 'v')), chunk_size), "9/7@16777216:1005;");
        // The stream's time continues where RTMP's wraps.
        EXPECT_EQ(encode(*encoder, audio(0x100000005), chunk_size), "8/7@5:3;");
    }
}

// A publisher puts "@setDataFrame" before its metadata, and before no other data.
TEST(RtmpEncoder, Publish) {
    auto encoder = RtmpParameters{.chunk_size = 128, .publish = true}.key().make_encoder();
    EXPECT_EQ(encode(*encoder, live::testing::metadata(), 128), "18/1@0:29;");
    media::Frame cue = live::testing::metadata();
    cue.sequence_header = false;
    cue.payload = base::Slice::copy(std::string_view("\x02\x00\x0aonCuePoint", 13));
    EXPECT_EQ(encode(*encoder, cue, 128), "18/1@0:13;");
    EXPECT_EQ(encode(*encoder, live::testing::video(40, true, "v"), 128), "9/1@40:6;");
    media::TrackSet tracks;
    tracks.update(live::testing::metadata("x"));
    base::SliceBuilder out;
    encoder->encode_prefix(tracks, media::from_ms(7), true, out);
    EXPECT_EQ(read_back(out.bytes(), 128), "18/1@0:30;");
}

TEST(RtmpEncoder, Filters) {
    auto only_audio = RtmpParameters{128, 1, true, false}.key().make_encoder();
    EXPECT_FALSE(only_audio->carries(media::Kind::kVideo));
    EXPECT_EQ(only_audio->encoded_size(live::testing::video(0, true)), 0u);
    EXPECT_GT(only_audio->encoded_size(live::testing::audio(0)), 0u);
}

TEST(RtmpEncoder, Prefix) {
    media::TrackSet tracks;
    tracks.update(live::testing::metadata("x"));
    tracks.update(live::testing::header(media::Kind::kVideo, "avcC"));
    tracks.update(live::testing::header(media::Kind::kAudio, "asc"));
    auto encoder = RtmpParameters{128, 1, true, true}.key().make_encoder();
    base::SliceBuilder out;
    encoder->encode_prefix(tracks, media::from_ms(1234), true, out);
    EXPECT_EQ(read_back(out.bytes(), 128), "18/1@0:14;9/1@1234:9;8/1@1234:5;");
    tracks.tracks.erase(tracks.tracks.begin());
    base::SliceBuilder less;
    encoder->encode_prefix(tracks, media::Time(0), false, less);
    EXPECT_EQ(read_back(less.bytes(), 128), "18/1@0:14;8/1@0:5;");
}

}  // namespace
}  // namespace convert
