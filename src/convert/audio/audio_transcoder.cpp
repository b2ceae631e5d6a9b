#include "convert/audio/audio_transcoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "convert/libav/libav.h"
#include "media/aac.h"
#include "media/audio_headers.h"

namespace convert {

using base::Code;
using base::fail;
using base::Result;

template <>
void AudioTranscoder::Free<AVCodecContext>::operator()(AVCodecContext* object) const {
    libav().avcodec_free_context(&object);
}
template <>
void AudioTranscoder::Free<AVFrame>::operator()(AVFrame* object) const {
    libav().av_frame_free(&object);
}
template <>
void AudioTranscoder::Free<AVPacket>::operator()(AVPacket* object) const {
    libav().av_packet_free(&object);
}
template <>
void AudioTranscoder::Free<SwrContext>::operator()(SwrContext* object) const {
    libav().swr_free(&object);
}

namespace {

constexpr size_t kMaxPacket = 64 * 1024;  // bytes of a source's packet
constexpr int kMaxDecoded = 48'000 * 2;   // samples of a decoded packet, per channel
constexpr int kMaxSourceRate = 192'000;
// The complexity of libopus, 0 to 10. From 7 on it tells music from speech, at four times the cost of all the rest.
constexpr int kOpusComplexity = 6;
// libavcodec's AAC encoder takes a quarter of the time with its fast search, and keeps more of the audio from 48 kbit/s
// on; temporal noise shaping costs a tenth more and has no measurable benefit (research/audio).
constexpr const char* kAacOptions[][2] = {{"aac_coder", "fast"}, {"aac_tns", "0"}};

const AVCodec* find_decoder(media::Codec codec) {
    switch (codec) {
        case media::Codec::kAac:
            return libav().avcodec_find_decoder(AV_CODEC_ID_AAC);
        case media::Codec::kMp3:
            return libav().avcodec_find_decoder(AV_CODEC_ID_MP3);
        case media::Codec::kOpus: {
            // libavcodec's own decoder works too.
            const AVCodec* found = libav().avcodec_find_decoder_by_name("libopus");
            return found ? found : libav().avcodec_find_decoder(AV_CODEC_ID_OPUS);
        }
        case media::Codec::kPcmAlaw:
            return libav().avcodec_find_decoder(AV_CODEC_ID_PCM_ALAW);
        case media::Codec::kPcmUlaw:
            return libav().avcodec_find_decoder(AV_CODEC_ID_PCM_MULAW);
        default:
            return nullptr;
    }
}

// The highest frequency that AAC keeps, Hz; 0: libavcodec's default, which at low bit rates is so low that the fast
// search leaves bits unused.
int aac_cutoff(int bitrate, int channels) {
    int each = bitrate / channels;
    return each < 34'000 ? std::clamp(each * 5 / 8 - 5'000, 4'000, 10'000) : 0;
}

// The number of channels of the source, as far as its header states it.
Result<int> source_channels(const AudioTranscoderOptions& options) {
    if (options.from == media::Codec::kAac) return TRY(media::parse_aac_config(options.from_header)).output_channels();
    if (options.from == media::Codec::kOpus && !options.from_header.empty())
        return TRY(media::parse_opus_head(options.from_header)).channels;
    return options.from_channels;
}

}  // namespace

AudioTranscoder::AudioTranscoder(const AudioTranscoderOptions& options)
    : decoded_(libav().av_frame_alloc()),
      to_encode_(libav().av_frame_alloc()),
      packet_(libav().av_packet_alloc()),
      clock_(kSampleRate, options.slack_ms) {
    CHECK(decoded_ && to_encode_ && packet_);
}

AudioTranscoder::~AudioTranscoder() = default;

Result<std::unique_ptr<AudioTranscoder>> AudioTranscoder::make(const AudioTranscoderOptions& options) {
    CHECK(options.to == media::Codec::kOpus || options.to == media::Codec::kAac);
    if (!libav().error.empty()) return fail(Code::kNotFound, libav().error);
    std::unique_ptr<AudioTranscoder> made(new AudioTranscoder(options));
    made->channels_ = std::clamp(TRY(source_channels(options)), 1, 2);
    TRY(made->open_decoder(options), "opening the audio decoder");
    TRY(made->open_encoder(options), "opening the audio encoder");
    return made;
}

// LC at kSampleRate, and that there is no SBR (ISO/IEC 14496-3, 1.6.5).
base::Slice AudioTranscoder::aac_header(int channels) {
    if (!libav().error.empty()) return {};
    constexpr uint8_t kLowComplexity = 2;
    constexpr uint8_t kNoSbr[] = {0x56, 0xe5, 0x00};  // syncExtensionType, SBR, absent
    const base::Slice config = media::make_aac_config(kLowComplexity, kSampleRate, static_cast<uint8_t>(channels));
    base::SliceBuilder header;
    header.append(config.bytes());
    header.append(kNoSbr);
    return header.freeze();
}

Result<void> AudioTranscoder::open_decoder(const AudioTranscoderOptions& options) {
    const AVCodec* codec = find_decoder(options.from);
    if (!codec)
        return fail(Code::kNotFound,
                    fmt::format("libavcodec has no decoder of {}", media::codec_info(options.from).name));
    decoder_.reset(libav().avcodec_alloc_context3(codec));
    CHECK(decoder_);
    decoder_->thread_count = 1;
    decoder_->request_sample_fmt = AV_SAMPLE_FMT_FLT;
    if (!options.from_header.empty()) {
        size_t size = options.from_header.size();
        decoder_->extradata = static_cast<uint8_t*>(libav().av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE));
        CHECK(decoder_->extradata);
        std::memcpy(decoder_->extradata, options.from_header.data(), size);
        decoder_->extradata_size = static_cast<int>(size);
    } else {
        bool opus = options.from == media::Codec::kOpus;
        decoder_->sample_rate = opus ? kSampleRate : options.from_rate;
        libav().av_channel_layout_default(&decoder_->ch_layout, std::clamp(options.from_channels, 1, 2));
    }
    if (int error = libav().avcodec_open2(decoder_.get(), codec, nullptr); error < 0)
        return fail(Code::kProtocol, libav_error(error));
    return {};
}

Result<void> AudioTranscoder::open_encoder(const AudioTranscoderOptions& options) {
    bool opus = options.to == media::Codec::kOpus;
    const AVCodec* codec =
        opus ? libav().avcodec_find_encoder_by_name("libopus") : libav().avcodec_find_encoder(AV_CODEC_ID_AAC);
    if (!codec)
        return fail(Code::kNotFound,
                    fmt::format("libavcodec has no encoder of {}", media::codec_info(options.to).name));
    encoder_.reset(libav().avcodec_alloc_context3(codec));
    CHECK(encoder_);
    encoder_->thread_count = 1;
    encoder_->sample_rate = kSampleRate;
    encoder_->sample_fmt = opus ? AV_SAMPLE_FMT_FLT : AV_SAMPLE_FMT_FLTP;
    encoder_->time_base = {1, kSampleRate};
    encoder_->bit_rate = options.bitrate;
    encoder_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    libav().av_channel_layout_default(&encoder_->ch_layout, channels_);
    if (opus) {
        encoder_->compression_level = kOpusComplexity;
        libav().av_opt_set_double(encoder_->priv_data, "frame_duration", options.opus_ptime_ms, 0);
    } else {
        for (const auto& [name, value] : kAacOptions) libav().av_opt_set(encoder_->priv_data, name, value, 0);
        encoder_->cutoff = aac_cutoff(options.bitrate, channels_);
    }
    if (int error = libav().avcodec_open2(encoder_.get(), codec, nullptr); error < 0)
        return fail(Code::kProtocol,
                    fmt::format("{} at {} bit/s: {}", codec->name, options.bitrate, libav_error(error)));
    frame_size_ = encoder_->frame_size;
    CHECK(frame_size_ > 0 && encoder_->extradata_size > 0);
    header_ = base::Slice::copy(std::span(encoder_->extradata, static_cast<size_t>(encoder_->extradata_size)));
    to_encode_->nb_samples = frame_size_;
    to_encode_->format = encoder_->sample_fmt;
    to_encode_->sample_rate = kSampleRate;
    CHECK(libav().av_channel_layout_copy(&to_encode_->ch_layout, &encoder_->ch_layout) >= 0);
    CHECK(libav().av_frame_get_buffer(to_encode_.get(), 0) >= 0);
    return {};
}

void AudioTranscoder::push(std::span<const uint8_t> packet, int64_t time_us, std::vector<EncodedAudio>& out) {
    if (packet.empty()) return;
    // libavcodec reads a little past a packet's end: the bytes are copied into a padded buffer.
    bool sent =
        packet.size() <= kMaxPacket && libav().av_new_packet(packet_.get(), static_cast<int>(packet.size())) >= 0;
    if (sent) {
        std::memcpy(packet_->data, packet.data(), packet.size());
        sent = libav().avcodec_send_packet(decoder_.get(), packet_.get()) >= 0;
        libav().av_packet_unref(packet_.get());
    }
    if (!sent) {
        ++counters_.undecodable;
        return;
    }
    source_samples_ = 0;
    while (libav().avcodec_receive_frame(decoder_.get(), decoded_.get()) >= 0) {
        if (decoded_->nb_samples > 0 && decoded_->nb_samples <= kMaxDecoded && adapt_resampler()) {
            int64_t samples = decoded_->nb_samples;
            take_decoded(time_us, out);
            time_us += samples * 1'000'000 / source_rate_;
            source_samples_ += samples * kSampleRate / source_rate_;
        } else {
            ++counters_.undecodable;
        }
        libav().av_frame_unref(decoded_.get());
    }
}

size_t AudioTranscoder::packets_until_output() const {
    const int64_t missing = frame_size_ - static_cast<int64_t>(waiting_.size()) / channels_;
    if (source_samples_ <= 0 || missing <= 0) return 1;
    return static_cast<size_t>((missing + source_samples_ - 1) / source_samples_);
}

// The format is known from the decoder only: with SBR another rate than the header's, or another number of channels.
bool AudioTranscoder::adapt_resampler() {
    int channels = decoded_->ch_layout.nb_channels;
    if (resampler_ && decoded_->sample_rate == source_rate_ && channels == source_channels_ &&
        decoded_->format == source_format_)
        return true;
    if (decoded_->sample_rate <= 0 || decoded_->sample_rate > kMaxSourceRate || channels <= 0) return false;
    SwrContext* made = nullptr;
    AVChannelLayout to;
    libav().av_channel_layout_default(&to, channels_);
    int error =
        libav().swr_alloc_set_opts2(&made, &to, AV_SAMPLE_FMT_FLT, kSampleRate, &decoded_->ch_layout,
                                    static_cast<AVSampleFormat>(decoded_->format), decoded_->sample_rate, 0, nullptr);
    resampler_.reset(made);
    if (error < 0 || libav().swr_init(made) < 0) {
        resampler_.reset();
        return false;
    }
    source_rate_ = decoded_->sample_rate;
    source_channels_ = channels;
    source_format_ = decoded_->format;
    return true;
}

// The time of the next decoded sample when it follows without a gap.
int64_t AudioTranscoder::expected() const {
    auto waiting = static_cast<int64_t>(waiting_.size()) / channels_;
    return waiting_time_ + waiting + libav().swr_get_delay(resampler_.get(), kSampleRate);
}

void AudioTranscoder::take_decoded(int64_t time_us, std::vector<EncodedAudio>& out) {
    int64_t time = time_us / 1000 * (kSampleRate / 1000) + time_us % 1000 * kSampleRate / 1'000'000;
    int64_t samples = static_cast<int64_t>(decoded_->nb_samples) * kSampleRate / source_rate_;
    media::AudioClock::Step step = clock_.next(time, expected(), samples);
    switch (step.action) {
        case media::AudioClock::Action::kDrop:
            ++counters_.dropped;
            return;
        case media::AudioClock::Action::kFill:
            fill(step.samples, out);
            break;
        case media::AudioClock::Action::kJump:
            if (!waiting_.empty()) fill(frame_size_ - static_cast<int64_t>(waiting_.size()) / channels_, out);
            waiting_time_ = time - libav().swr_get_delay(resampler_.get(), kSampleRate);
            ++counters_.jumps;
            break;
        case media::AudioClock::Action::kPlay:
            break;
    }
    if (step.stretch != 0) libav().swr_set_compensation(resampler_.get(), step.stretch, kSampleRate);
    resample(out);
}

void AudioTranscoder::resample(std::vector<EncodedAudio>& out) {
    int room = libav().swr_get_out_samples(resampler_.get(), decoded_->nb_samples);
    if (room <= 0) return;
    size_t before = waiting_.size();
    waiting_.resize(before + static_cast<size_t>(room) * static_cast<size_t>(channels_));
    auto* output = reinterpret_cast<uint8_t*>(waiting_.data() + before);
    int made = libav().swr_convert(resampler_.get(), &output, room,
                                   const_cast<const uint8_t**>(decoded_->extended_data), decoded_->nb_samples);
    waiting_.resize(before + static_cast<size_t>(std::max(made, 0)) * static_cast<size_t>(channels_));
    encode_whole(out);
}

void AudioTranscoder::fill(int64_t samples, std::vector<EncodedAudio>& out) {
    counters_.filled_samples += static_cast<uint64_t>(samples);
    waiting_.resize(waiting_.size() + static_cast<size_t>(samples * channels_));
    encode_whole(out);
}

void AudioTranscoder::finish(std::vector<EncodedAudio>& out) {
    if (!waiting_.empty()) fill(frame_size_ - static_cast<int64_t>(waiting_.size()) / channels_, out);
}

void AudioTranscoder::encode_whole(std::vector<EncodedAudio>& out) {
    auto whole = static_cast<size_t>(frame_size_) * static_cast<size_t>(channels_);
    size_t at = 0;
    for (; waiting_.size() - at >= whole; at += whole) {
        CHECK(libav().av_frame_make_writable(to_encode_.get()) >= 0);
        const float* from = waiting_.data() + at;
        if (encoder_->sample_fmt == AV_SAMPLE_FMT_FLT) {
            std::memcpy(to_encode_->data[0], from, whole * sizeof(float));
        } else {
            for (int c = 0; c < channels_; ++c) {
                auto* plane = reinterpret_cast<float*>(to_encode_->data[c]);
                for (int i = 0; i < frame_size_; ++i) plane[i] = from[i * channels_ + c];
            }
        }
        to_encode_->pts = waiting_time_;
        waiting_time_ += frame_size_;
        encode_one(out);
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(at));
}

void AudioTranscoder::encode_one(std::vector<EncodedAudio>& out) {
    if (libav().avcodec_send_frame(encoder_.get(), to_encode_.get()) < 0) return;
    if (!encodes_) {
        // The packets that consist of the encoder's delay alone.
        for (int64_t left = encoder_->initial_padding / frame_size_; left > 0; --left)
            packet_times_.push_back(to_encode_->pts - left * frame_size_);
        encodes_ = true;
    }
    packet_times_.push_back(to_encode_->pts);
    while (libav().avcodec_receive_packet(encoder_.get(), packet_.get()) >= 0) {
        // Not the encoder's pts: behind a jump it still counts on from the frame before.
        const int64_t time =
            packet_times_.empty() ? packet_->pts : packet_times_.front() - encoder_->initial_padding % frame_size_;
        if (!packet_times_.empty()) packet_times_.pop_front();
        out.push_back({base::Slice::copy(std::span(packet_->data, static_cast<size_t>(packet_->size))), time});
        libav().av_packet_unref(packet_.get());
    }
}

}  // namespace convert
