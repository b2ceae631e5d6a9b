#include <gtest/gtest.h>

#include "media/h264.h"
#include "protocol/rtp/payload/payload_testing.h"

namespace rtp {
namespace {

using media::Codec;

std::unique_ptr<Packetizer> h264_packetizer(PacketizerOptions options) {
    auto packetizer = make_packetizer(Codec::kH264, options);
    auto config = media::make_avc_config(testing::h264_sps(), testing::h264_pps());
    EXPECT_TRUE(packetizer->set_header(testing::header_frame(Codec::kH264, *config)));
    return packetizer;
}

media::Frame frame_of(Codec codec, size_t size) {
    if (codec == Codec::kH264) return testing::video_frame(codec, true, {testing::nalu({0x65}, size)});
    media::Frame frame;
    frame.kind = media::codec_info(codec).kind;
    frame.codec = codec;
    frame.keyframe = frame.kind == media::Kind::kVideo;
    frame.payload = base::Slice::copy(std::vector<uint8_t>(size, 0x10));
    return frame;
}

TEST(Packetizer, WritesTheSamePayloadsIntoAGivenBuffer) {
    for (auto [codec, size] :
         {std::pair(Codec::kH264, 5000), {Codec::kVp8, 5000}, {Codec::kOpus, 200}, {Codec::kPcmAlaw, 3000}}) {
        PacketizerOptions options{.max_payload = 1000, .headroom = 16};
        auto one = codec == Codec::kH264 ? h264_packetizer(options) : make_packetizer(codec, options);
        auto other = codec == Codec::kH264 ? h264_packetizer(options) : make_packetizer(codec, options);
        std::vector<testing::Payload> payloads;
        ASSERT_TRUE(testing::packetize(*one, frame_of(codec, static_cast<size_t>(size)), payloads));

        base::SliceBuilder buffer;
        buffer.append(testing::hex("0102030405"));
        std::vector<PayloadSpan> spans;
        ASSERT_TRUE(other->write(frame_of(codec, static_cast<size_t>(size)), buffer, spans));
        ASSERT_EQ(spans.size(), payloads.size());
        size_t end = 5;
        for (size_t i = 0; i < spans.size(); ++i) {
            EXPECT_EQ(spans[i].begin, end + 16) << "payload " << i;
            end = spans[i].end;
            EXPECT_EQ(base::Slice::copy(buffer.bytes().subspan(spans[i].begin, end - spans[i].begin)),
                      payloads[i].bytes);
            EXPECT_EQ(spans[i].marker, payloads[i].marker);
            EXPECT_EQ(spans[i].timestamp_offset, payloads[i].timestamp_offset);
        }
        EXPECT_EQ(buffer.size(), end);
    }
}

TEST(Packetizer, AnErrorLeavesTheBufferUnchanged) {
    auto packetizer = h264_packetizer({.max_payload = 1000, .single_nalus = true});
    base::SliceBuilder buffer;
    std::vector<PayloadSpan> spans;
    auto frame = testing::video_frame(Codec::kH264, false, {testing::nalu({0x41}, 900), testing::nalu({0x41}, 1001)});
    auto written = packetizer->write(frame, buffer, spans);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().text(), "a NAL unit of 1001 bytes; without fragments at most 1000");
    EXPECT_EQ(buffer.size(), 0u);
    EXPECT_TRUE(spans.empty());
}

// RFC 6184, 6.2: one NAL unit per packet, parameter sets too.
TEST(Packetizer, SingleNalUnitsArePacketsOfTheirOwn) {
    auto packetizer = h264_packetizer({.max_payload = 1000, .single_nalus = true});
    std::vector<testing::Payload> payloads;
    ASSERT_TRUE(testing::packetize(*packetizer, frame_of(Codec::kH264, 1000), payloads));
    ASSERT_EQ(payloads.size(), 3u);
    EXPECT_EQ(payloads[0].bytes, base::Slice::copy(testing::h264_sps()));
    EXPECT_EQ(payloads[1].bytes, base::Slice::copy(testing::h264_pps()));
    EXPECT_EQ(payloads[2].bytes.size(), 1000u);
    EXPECT_EQ(payloads[2].bytes[0], 0x65);
    EXPECT_FALSE(payloads[1].marker);
    EXPECT_TRUE(payloads[2].marker);
}

}  // namespace
}  // namespace rtp
