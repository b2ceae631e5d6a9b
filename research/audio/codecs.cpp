#include "audio/codecs.h"

extern "C" {
#include <libavutil/opt.h>
}

#include <algorithm>
#include <cstring>

#include "base/result.h"

namespace audio {
namespace {

struct Free {
    void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
    void operator()(AVFrame* frame) const { av_frame_free(&frame); }
    void operator()(AVPacket* packet) const { av_packet_free(&packet); }
    void operator()(SwrContext* context) const { swr_free(&context); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

void append(Pcm& pcm, const AVFrame& frame) {
    int channels = frame.ch_layout.nb_channels;
    pcm.channels = channels;
    for (int i = 0; i < frame.nb_samples; ++i) {
        for (int c = 0; c < channels; ++c) {
            bool planar = frame.format == AV_SAMPLE_FMT_FLTP;
            CHECK(planar || frame.format == AV_SAMPLE_FMT_FLT);
            auto* plane = reinterpret_cast<const float*>(frame.extended_data[planar ? c : 0]);
            pcm.samples.push_back(plane[planar ? i : i * channels + c]);
        }
    }
}

}  // namespace

size_t Encoded::bytes() const {
    size_t sum = 0;
    for (const Packet& packet : packets) sum += packet.size();
    return sum;
}

Decoded decode(const char* decoder, std::span<const uint8_t> header, std::span<const Packet> packets) {
    const AVCodec* codec = avcodec_find_decoder_by_name(decoder);
    CHECK(codec);
    Owned<AVCodecContext> context(avcodec_alloc_context3(codec));
    context->thread_count = 1;
    context->request_sample_fmt = AV_SAMPLE_FMT_FLT;
    context->extradata = static_cast<uint8_t*>(av_mallocz(header.size() + AV_INPUT_BUFFER_PADDING_SIZE));
    std::copy(header.begin(), header.end(), context->extradata);
    context->extradata_size = static_cast<int>(header.size());
    CHECK(avcodec_open2(context.get(), codec, nullptr) >= 0);
    Owned<AVPacket> packet(av_packet_alloc());
    Owned<AVFrame> frame(av_frame_alloc());
    Decoded out;
    for (const Packet& bytes : packets) {
        CHECK(av_new_packet(packet.get(), static_cast<int>(bytes.size())) >= 0);
        std::memcpy(packet->data, bytes.data(), bytes.size());
        (void)avcodec_send_packet(context.get(), packet.get());
        av_packet_unref(packet.get());
        while (avcodec_receive_frame(context.get(), frame.get()) >= 0) {
            out.rate = frame->sample_rate;
            append(out.pcm, *frame);
        }
    }
    return out;
}

Pcm resample(const Decoded& from, int block) {
    AVChannelLayout layout;
    av_channel_layout_default(&layout, from.pcm.channels);
    SwrContext* made = nullptr;
    CHECK(swr_alloc_set_opts2(&made, &layout, AV_SAMPLE_FMT_FLT, 48'000, &layout, AV_SAMPLE_FMT_FLT, from.rate, 0,
                              nullptr) >= 0);
    Owned<SwrContext> context(made);
    CHECK(swr_init(made) >= 0);
    Pcm out;
    out.channels = from.pcm.channels;
    auto channels = static_cast<size_t>(out.channels);
    std::vector<float> room(static_cast<size_t>(block) * 8 * channels);
    for (size_t at = 0; at < from.pcm.frames(); at += static_cast<size_t>(block)) {
        auto count = static_cast<int>(std::min<size_t>(static_cast<size_t>(block), from.pcm.frames() - at));
        auto* in = reinterpret_cast<const uint8_t*>(&from.pcm.samples[at * channels]);
        auto* to = reinterpret_cast<uint8_t*>(room.data());
        int got = swr_convert(made, &to, block * 8, &in, count);
        CHECK(got >= 0);
        out.samples.insert(out.samples.end(), room.begin(), room.begin() + got * out.channels);
    }
    return out;
}

Encoded encode(const char* encoder, int bitrate, const Options& options, const Pcm& pcm) {
    const AVCodec* codec = avcodec_find_encoder_by_name(encoder);
    CHECK(codec);
    Owned<AVCodecContext> context(avcodec_alloc_context3(codec));
    bool planar = codec->sample_fmts[0] == AV_SAMPLE_FMT_FLTP;
    context->thread_count = 1;
    context->sample_rate = 48'000;
    context->sample_fmt = planar ? AV_SAMPLE_FMT_FLTP : AV_SAMPLE_FMT_FLT;
    context->time_base = {1, 48'000};
    context->bit_rate = bitrate;
    context->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    av_channel_layout_default(&context->ch_layout, pcm.channels);
    for (const auto& [name, value] : options)
        CHECK(av_opt_set(context.get(), name.c_str(), value.c_str(), AV_OPT_SEARCH_CHILDREN) >= 0);
    CHECK(avcodec_open2(context.get(), codec, nullptr) >= 0);
    Encoded out;
    out.header.assign(context->extradata, context->extradata + context->extradata_size);
    Owned<AVPacket> packet(av_packet_alloc());
    Owned<AVFrame> frame(av_frame_alloc());
    frame->nb_samples = context->frame_size;
    frame->format = context->sample_fmt;
    frame->sample_rate = 48'000;
    CHECK(av_channel_layout_copy(&frame->ch_layout, &context->ch_layout) >= 0);
    CHECK(av_frame_get_buffer(frame.get(), 0) >= 0);
    auto size = static_cast<size_t>(context->frame_size);
    auto channels = static_cast<size_t>(pcm.channels);
    for (size_t at = 0; at + size <= pcm.frames(); at += size) {
        CHECK(av_frame_make_writable(frame.get()) >= 0);
        const float* from = &pcm.samples[at * channels];
        for (size_t c = 0; c < channels; ++c)
            for (size_t i = 0; i < size; ++i) {
                auto* plane = reinterpret_cast<float*>(frame->data[planar ? c : 0]);
                plane[planar ? i : i * channels + c] = from[i * channels + c];
            }
        frame->pts = static_cast<int64_t>(at);
        CHECK(avcodec_send_frame(context.get(), frame.get()) >= 0);
        while (avcodec_receive_packet(context.get(), packet.get()) >= 0) {
            out.packets.emplace_back(packet->data, packet->data + packet->size);
            av_packet_unref(packet.get());
        }
    }
    return out;
}

}  // namespace audio
