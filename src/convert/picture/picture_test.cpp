#include "convert/picture/picture.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "convert/libav/libav.h"

// libx265, by which a keyframe is made here, does not free all of its memory.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libx265"; }

namespace convert {
namespace {

struct Colour {
    uint8_t y = 0, u = 0, v = 0;
};
// Of the limited range, by BT.601.
constexpr Colour kRed{81, 90, 240};

// A keyframe of one colour, by an encoder of libavcodec; no bytes: this libavcodec does not have it.
Keyframe encoded(const char* encoder, media::Codec codec, int width, int height, Colour colour,
                 AVRational aspect = {1, 1}) {
    const AVCodec* found = libav().avcodec_find_encoder_by_name(encoder);
    if (!found) return {};
    AVCodecContext* context = libav().avcodec_alloc_context3(found);
    context->width = width;
    context->height = height;
    context->pix_fmt = AV_PIX_FMT_YUV420P;
    context->time_base = {1, 25};
    context->thread_count = 1;
    context->sample_aspect_ratio = aspect;
    context->max_b_frames = 2;
    AVFrame* frame = libav().av_frame_alloc();
    frame->format = context->pix_fmt;
    frame->width = width;
    frame->height = height;
    libav().av_frame_get_buffer(frame, 0);
    const uint8_t values[] = {colour.y, colour.u, colour.v};
    for (int plane = 0; plane < 3; ++plane)
        std::memset(frame->data[plane], values[plane],
                    static_cast<size_t>(frame->linesize[plane]) * static_cast<size_t>((height + 1) / (plane ? 2 : 1)));
    AVPacket* packet = libav().av_packet_alloc();
    Keyframe keyframe{.codec = codec};
    if (libav().avcodec_open2(context, found, nullptr) >= 0 && libav().avcodec_send_frame(context, frame) >= 0 &&
        libav().avcodec_send_frame(context, nullptr) >= 0 && libav().avcodec_receive_packet(context, packet) >= 0)
        keyframe.payload.assign(packet->data, packet->data + packet->size);
    libav().av_packet_free(&packet);
    libav().av_frame_free(&frame);
    libav().avcodec_free_context(&context);
    return keyframe;
}

// What is in the middle of a JPEG.
Colour middle_of(const Picture& picture) {
    const AVCodec* codec = libav().avcodec_find_decoder(AV_CODEC_ID_MJPEG);
    AVCodecContext* context = libav().avcodec_alloc_context3(codec);
    AVPacket* packet = libav().av_packet_alloc();
    AVFrame* frame = libav().av_frame_alloc();
    Colour colour;
    libav().av_new_packet(packet, static_cast<int>(picture.jpeg.size()));
    std::memcpy(packet->data, picture.jpeg.data(), picture.jpeg.size());
    if (libav().avcodec_open2(context, codec, nullptr) >= 0 && libav().avcodec_send_packet(context, packet) >= 0 &&
        libav().avcodec_receive_frame(context, frame) >= 0) {
        EXPECT_EQ(frame->width, picture.width);
        EXPECT_EQ(frame->height, picture.height);
        const auto at = [&](int plane, int shift) {
            return frame
                ->data[plane][(frame->height >> (shift + 1)) * frame->linesize[plane] + (frame->width >> (shift + 1))];
        };
        colour = {at(0, 0), at(1, 1), at(2, 1)};
    }
    libav().av_frame_free(&frame);
    libav().av_packet_free(&packet);
    libav().avcodec_free_context(&context);
    return colour;
}

struct Encoder {
    const char* name;
    media::Codec codec;
};
class PictureOf : public testing::TestWithParam<Encoder> {};

TEST_P(PictureOf, HasTheColoursAndTheShapeOfTheKeyframe) {
    const Keyframe keyframe = encoded(GetParam().name, GetParam().codec, 640, 360, kRed);
    if (keyframe.payload.empty()) GTEST_SKIP() << "there is no " << GetParam().name;
    const auto picture = make_picture(keyframe, 320);
    ASSERT_TRUE(picture) << picture.error().text();
    EXPECT_EQ(picture->width, 320);
    EXPECT_EQ(picture->height, 180);
    const Colour colour = middle_of(*picture);
    EXPECT_NEAR(colour.y, 76, 4);  // of the full range
    EXPECT_NEAR(colour.u, 85, 4);
    EXPECT_NEAR(colour.v, 255, 4);
}

INSTANTIATE_TEST_SUITE_P(Codecs, PictureOf,
                         testing::Values(Encoder{"libx264", media::Codec::kH264},
                                         Encoder{"libx265", media::Codec::kHevc}, Encoder{"libvpx", media::Codec::kVp8},
                                         Encoder{"libvpx-vp9", media::Codec::kVp9},
                                         Encoder{"libsvtav1", media::Codec::kAv1}),
                         [](const auto& which) { return std::string(media::codec_info(which.param.codec).name); });

TEST(Picture, IsNeverLargerThanTheKeyframe) {
    const auto picture = make_picture(encoded("libx264", media::Codec::kH264, 160, 90, kRed), 1920);
    ASSERT_TRUE(picture) << picture.error().text();
    EXPECT_EQ(picture->width, 160);
    EXPECT_EQ(picture->height, 90);
}

TEST(Picture, HasSquarePixels) {
    // 720 x 576 of 16:9.
    const auto wide = make_picture(encoded("libx264", media::Codec::kH264, 720, 576, kRed, {64, 45}), 1920);
    ASSERT_TRUE(wide) << wide.error().text();
    EXPECT_EQ(wide->width, 720);
    EXPECT_EQ(wide->height, 405);
    const auto nonsense = make_picture(encoded("libx264", media::Codec::kH264, 160, 90, kRed, {1, 255}), 1920);
    ASSERT_TRUE(nonsense) << nonsense.error().text();
    EXPECT_EQ(nonsense->height, 90);
}

TEST(Picture, RefusesWhatIsTooLargeBeforeItIsDecoded) {
    Keyframe bytes{.codec = media::Codec::kH264};
    bytes.payload.resize(kMaxKeyframeBytes + 1);
    auto refused = make_picture(bytes, 640);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), base::Code::kLimit);
    const Keyframe pixels = encoded("libvpx", media::Codec::kVp8, 8192, 2048, kRed);
    ASSERT_FALSE(pixels.payload.empty());
    refused = make_picture(pixels, 640);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), base::Code::kProtocol);
}

TEST(Picture, TellsWhatHasNoDecoder) {
    for (const media::Codec codec : {media::Codec::kScreen, media::Codec::kNone}) {
        const auto refused = make_picture({.codec = codec, .payload = {1, 2, 3}}, 640);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code(), base::Code::kNotFound);
    }
}

// Whatever comes out, nothing is read or written where it must not.
TEST(Picture, SurvivesHostileBytes) {
    uint32_t state = 1;
    const auto random = [&] { return state = state * 1'103'515'245 + 12'345, state >> 8; };
    for (const Encoder& encoder : {Encoder{"libx264", media::Codec::kH264}, Encoder{"libx265", media::Codec::kHevc},
                                   Encoder{"libvpx", media::Codec::kVp8}, Encoder{"libvpx-vp9", media::Codec::kVp9}}) {
        const Keyframe whole = encoded(encoder.name, encoder.codec, 64, 64, kRed);
        if (whole.payload.empty()) continue;
        for (int round = 0; round < 50; ++round) {
            Keyframe keyframe = whole;
            for (uint32_t changes = 1 + random() % 8; changes > 0; --changes)
                keyframe.payload[random() % keyframe.payload.size()] = static_cast<uint8_t>(random());
            keyframe.payload.resize(1 + random() % keyframe.payload.size());
            if (round % 3 == 0) keyframe.header = {whole.payload.begin(), whole.payload.begin() + random() % 16};
            const auto picture = make_picture(keyframe, 64);
            EXPECT_TRUE(!picture || !picture->jpeg.empty());
        }
    }
}

}  // namespace
}  // namespace convert
