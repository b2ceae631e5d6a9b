#include "convert/picture/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "convert/libav/libav.h"

namespace convert {

namespace {

using base::Code;
using base::fail;
using base::Result;

// Of the JPEG, 2 (best) to 31: a picture of 640 x 360 has some 30 kB.
constexpr int kQuantiser = 5;
// Pixels of another shape are ignored beyond that.
constexpr int kMaxAspect = 4;
constexpr int kMaxHeight = 4096;

struct Free {
    void operator()(AVCodecContext* context) const { libav().avcodec_free_context(&context); }
    void operator()(AVFrame* frame) const { libav().av_frame_free(&frame); }
    void operator()(AVPacket* packet) const { libav().av_packet_free(&packet); }
    void operator()(SwsContext* context) const { swscale().sws_freeContext(context); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

AVCodecID id_of(media::Codec codec) {
    switch (codec) {
        case media::Codec::kH264:
            return AV_CODEC_ID_H264;
        case media::Codec::kHevc:
            return AV_CODEC_ID_HEVC;
        case media::Codec::kAv1:
            return AV_CODEC_ID_AV1;
        case media::Codec::kVp8:
            return AV_CODEC_ID_VP8;
        case media::Codec::kVp9:
            return AV_CODEC_ID_VP9;
        default:
            return AV_CODEC_ID_NONE;
    }
}

std::unexpected<base::Error> no_memory() { return fail(Code::kSystem, "there is no memory for the picture"); }

Result<Owned<AVCodecContext>> open_decoder(const Keyframe& keyframe) {
    const AVCodecID id = id_of(keyframe.codec);
    const AVCodec* codec = id == AV_CODEC_ID_NONE ? nullptr : libav().avcodec_find_decoder(id);
    if (!codec)
        return fail(Code::kNotFound, fmt::format("there is no decoder of {}", media::codec_info(keyframe.codec).name));
    Owned<AVCodecContext> decoder(libav().avcodec_alloc_context3(codec));
    if (!decoder) return no_memory();
    decoder->thread_count = 1;
    decoder->max_pixels = kMaxKeyframePixels;
    // A keyframe that is a recovery point counts as damaged until the decoder has had the frames after it.
    decoder->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
    const size_t size = codec->id == AV_CODEC_ID_VP8 || codec->id == AV_CODEC_ID_VP9 ? 0 : keyframe.header.size();
    if (size > 0) {
        decoder->extradata = static_cast<uint8_t*>(libav().av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE));
        if (!decoder->extradata) return no_memory();
        std::memcpy(decoder->extradata, keyframe.header.data(), size);
        decoder->extradata_size = static_cast<int>(size);
    }
    if (const int error = libav().avcodec_open2(decoder.get(), codec, nullptr); error < 0)
        return fail(Code::kProtocol, fmt::format("opening the decoder of {}: {}",
                                                 media::codec_info(keyframe.codec).name, libav_error(error)));
    return decoder;
}

Result<Owned<AVFrame>> decode(const Keyframe& keyframe) {
    const Owned<AVCodecContext> decoder = TRY(open_decoder(keyframe));
    const Owned<AVPacket> packet(libav().av_packet_alloc());
    Owned<AVFrame> frame(libav().av_frame_alloc());
    const size_t size = keyframe.payload.size();
    if (!packet || !frame || libav().av_new_packet(packet.get(), static_cast<int>(size)) < 0) return no_memory();
    std::memcpy(packet->data, keyframe.payload.data(), size);
    packet->flags |= AV_PKT_FLAG_KEY;
    int error = libav().avcodec_send_packet(decoder.get(), packet.get());
    // Decoders that reorder frames return it at the end of the stream.
    if (error >= 0) error = libav().avcodec_send_packet(decoder.get(), nullptr);
    if (error >= 0) error = libav().avcodec_receive_frame(decoder.get(), frame.get());
    if (error < 0) return fail(Code::kProtocol, fmt::format("the keyframe is not decoded: {}", libav_error(error)));
    if (frame->width <= 0 || frame->height <= 0 || int64_t{frame->width} * frame->height > kMaxKeyframePixels)
        return fail(Code::kLimit, fmt::format("the keyframe has {}x{} pixels", frame->width, frame->height));
    return frame;
}

struct Size {
    int width;
    int height;
};

// With square pixels.
Size size_of(const AVFrame& frame, int max_width) {
    int64_t width = frame.width;
    const AVRational aspect = frame.sample_aspect_ratio;
    if (aspect.num > 0 && aspect.den > 0 && int64_t{aspect.num} <= int64_t{kMaxAspect} * aspect.den &&
        int64_t{aspect.den} <= int64_t{kMaxAspect} * aspect.num)
        width = width * aspect.num / aspect.den;
    width = std::max<int64_t>(width, 1);
    const int64_t scaled = std::min<int64_t>({width, frame.width, max_width});
    const int64_t height = std::clamp<int64_t>((frame.height * scaled + width / 2) / width, 1, kMaxHeight);
    return {static_cast<int>(scaled), static_cast<int>(height)};
}

// Where the stream does not say it, small pictures have the colours of BT.601, and others those of BT.709.
int colorspace_of(const AVFrame& frame) {
    if (frame.colorspace != AVCOL_SPC_UNSPECIFIED && frame.colorspace != AVCOL_SPC_RGB) return frame.colorspace;
    return frame.height >= 720 ? SWS_CS_ITU709 : SWS_CS_ITU601;
}

// In the colours of JPEG: BT.601, of the full range.
Result<Owned<AVFrame>> scale(const AVFrame& frame, const Size& size) {
    const auto format = static_cast<AVPixelFormat>(frame.format);
    const Owned<SwsContext> scaler(swscale().sws_getContext(frame.width, frame.height, format, size.width, size.height,
                                                            AV_PIX_FMT_YUVJ420P, SWS_AREA, nullptr, nullptr, nullptr));
    Owned<AVFrame> out(libav().av_frame_alloc());
    if (!scaler || !out) return fail(Code::kProtocol, "there is no conversion of these pixels");
    const bool is_full = frame.color_range == AVCOL_RANGE_JPEG;
    constexpr int kOne = 1 << 16;
    swscale().sws_setColorspaceDetails(scaler.get(), swscale().sws_getCoefficients(colorspace_of(frame)), is_full,
                                       swscale().sws_getCoefficients(SWS_CS_ITU601), 1, 0, kOne, kOne);
    out->format = AV_PIX_FMT_YUVJ420P;
    out->width = size.width;
    out->height = size.height;
    out->color_range = AVCOL_RANGE_JPEG;
    if (libav().av_frame_get_buffer(out.get(), 0) < 0) return no_memory();
    if (swscale().sws_scale(scaler.get(), frame.data, frame.linesize, 0, frame.height, out->data, out->linesize) <= 0)
        return fail(Code::kProtocol, "the picture is not scaled");
    return out;
}

Result<Picture> encode(AVFrame& frame) {
    const AVCodec* codec = libav().avcodec_find_encoder(AV_CODEC_ID_MJPEG);
    if (!codec) return fail(Code::kNotFound, "libavcodec has no encoder of JPEG");
    const Owned<AVCodecContext> encoder(libav().avcodec_alloc_context3(codec));
    const Owned<AVPacket> packet(libav().av_packet_alloc());
    if (!encoder || !packet) return no_memory();
    encoder->thread_count = 1;
    encoder->width = frame.width;
    encoder->height = frame.height;
    encoder->pix_fmt = AV_PIX_FMT_YUVJ420P;
    encoder->color_range = AVCOL_RANGE_JPEG;
    encoder->time_base = {1, 1};
    encoder->flags |= AV_CODEC_FLAG_QSCALE;
    encoder->global_quality = frame.quality = FF_QP2LAMBDA * kQuantiser;
    int error = libav().avcodec_open2(encoder.get(), codec, nullptr);
    if (error >= 0) error = libav().avcodec_send_frame(encoder.get(), &frame);
    if (error >= 0) error = libav().avcodec_receive_packet(encoder.get(), packet.get());
    if (error < 0) return fail(Code::kProtocol, fmt::format("the picture is not encoded: {}", libav_error(error)));
    const auto* bytes = reinterpret_cast<const char*>(packet->data);
    return Picture{std::string(bytes, static_cast<size_t>(packet->size)), frame.width, frame.height};
}

}  // namespace

Result<Picture> make_picture(const Keyframe& keyframe, int max_width) {
    for (const std::string& error : {libav().error, swscale().error})
        if (!error.empty()) return fail(Code::kNotFound, error);
    if (keyframe.payload.size() > kMaxKeyframeBytes || keyframe.header.size() > kMaxKeyframeBytes)
        return fail(Code::kLimit, fmt::format("the keyframe has {} bytes", keyframe.payload.size()));
    if (keyframe.payload.empty()) return fail(Code::kProtocol, "the keyframe is empty");
    const Owned<AVFrame> frame = TRY(decode(keyframe));
    const Owned<AVFrame> scaled = TRY(scale(*frame, size_of(*frame, max_width)));
    return encode(*scaled);
}

}  // namespace convert
