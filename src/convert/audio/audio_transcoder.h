#pragma once
// AudioTranscoder: converts one audio codec into another by libavcodec and libswresample: AAC, MP3, Opus or G.711 of
// any rate and channels into Opus (48 kHz, packets of 20, 40 or 60 ms) or AAC-LC (48 kHz, frames of 1024 samples), in
// mono or stereo. Packets have the times of the source, whatever was lost in it (audio_clock.h), and the codecs' own
// delays are subtracted. Its memory is bounded: less than one packet, and the resampler's window. It runs on the
// caller's thread, which may be any as long as no other thread holds its Slices. It needs more stack than a coroutine
// usually has: libopus alone uses over 64 kB.
//
// Opus is encoded by libopus, through Debian's libavcodec: libavcodec's own Opus encoder is marked experimental, and
// supports CELT only, which is made for music and degrades speech at low rates.

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/slice.h"
#include "media/audio_clock.h"
#include "media/frame.h"

struct AVCodecContext;
struct AVFrame;
struct AVPacket;
struct SwrContext;

namespace convert {

struct AudioTranscoderOptions {
    media::Codec from = media::Codec::kNone;
    base::Slice from_header{};              // AudioSpecificConfig, media::OpusHead; empty for codecs without one
    int from_channels = 2;                  // of codecs without header: as in the session description
    int from_rate = 8000;                   // Hz; of G.711
    media::Codec to = media::Codec::kNone;  // kOpus, kAac
    int bitrate = 48'000;                   // bit/s
    int opus_ptime_ms = 20;                 // of each output packet: 20, 40 or 60
    // A deviation from the end of the previous frame by more than this is not jitter. Small where times are exact
    // (RTP), otherwise larger than the jitter of a publisher's milliseconds.
    int slack_ms = 60;
};

struct EncodedAudio {
    base::Slice payload;
    int64_t time = 0;  // of its first sample, in samples of sample_rate(), with the same zero as the source's
};

struct AudioTranscoderCounters {
    uint64_t undecodable = 0;     // packets
    uint64_t dropped = 0;         // packets whose time had passed
    uint64_t filled_samples = 0;  // silence
    uint64_t jumps = 0;
};

class AudioTranscoder {
  public:
    static constexpr int kSampleRate = 48'000;

    // kNotFound: libavcodec is missing or not of the version of this build, or it lacks a codec. kProtocol: the header
    // is malformed.
    static base::Result<std::unique_ptr<AudioTranscoder>> make(const AudioTranscoderOptions& options);
    // The header() of any that converts to AAC with that many channels, 1 or 2; empty without libavcodec.
    static base::Slice aac_header(int channels);
    ~AudioTranscoder();
    AudioTranscoder(const AudioTranscoder&) = delete;

    // One packet of the source. Appends the packets that are complete; a packet that cannot be decoded is counted and
    // skipped.
    void push(std::span<const uint8_t> packet, int64_t time_us, std::vector<EncodedAudio>& out);
    // The remaining samples, with silence up to a whole packet.
    void finish(std::vector<EncodedAudio>& out);

    // The number of further source packets, each as long as the last one, that complete an output packet; at least 1,
    // and 1 while it is not known.
    size_t packets_until_output() const;

    int sample_rate() const { return kSampleRate; }
    int channels() const { return channels_; }
    // media::OpusHead, AudioSpecificConfig.
    const base::Slice& header() const { return header_; }
    const AudioTranscoderCounters& counters() const { return counters_; }

  private:
    template <class T>
    struct Free {
        void operator()(T* object) const;
    };
    template <class T>
    using Owned = std::unique_ptr<T, Free<T>>;

    explicit AudioTranscoder(const AudioTranscoderOptions& options);
    base::Result<void> open_decoder(const AudioTranscoderOptions& options);
    base::Result<void> open_encoder(const AudioTranscoderOptions& options);
    bool adapt_resampler();
    void take_decoded(int64_t time_us, std::vector<EncodedAudio>& out);
    void resample(std::vector<EncodedAudio>& out);
    void fill(int64_t samples, std::vector<EncodedAudio>& out);
    void encode_whole(std::vector<EncodedAudio>& out);
    void encode_one(std::vector<EncodedAudio>& out);
    int64_t expected() const;

    Owned<AVCodecContext> decoder_;
    Owned<AVCodecContext> encoder_;
    Owned<SwrContext> resampler_;
    Owned<AVFrame> decoded_;
    Owned<AVFrame> to_encode_;
    Owned<AVPacket> packet_;
    int source_rate_ = 0;  // as configured in the resampler
    int source_channels_ = 0;
    int source_format_ = -1;
    int channels_ = 2;
    int frame_size_ = 0;          // samples of one packet
    int64_t source_samples_ = 0;  // made from the last packet of the source
    base::Slice header_;
    media::AudioClock clock_;
    std::vector<float> waiting_;        // interleaved, less than one output packet
    int64_t waiting_time_ = 0;          // of its first sample
    bool encodes_ = false;              // a frame was encoded
    std::deque<int64_t> packet_times_;  // of the encoder's next packets, without the part of its delay below a frame
    AudioTranscoderCounters counters_;
};

}  // namespace convert
