#pragma once
// The headers of the other audio codecs, for rate and channels: an MPEG audio frame's (ISO/IEC 11172-3, 2.4.1.3 and
// 13818-3), OpusHead (RFC 7845, 5.1) and an Opus packet's TOC (RFC 6716, 3.1), FLAC's STREAMINFO (RFC 9639, 8.2),
// AC-3's and E-AC-3's sync frames (ATSC A/52, 5.3 and E.1.2).

#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/slice.h"
#include "media/codec.h"

namespace media {

struct MpegAudioHeader {
    int version = 1;  // 1, 2; 25 for MPEG-2.5
    int layer = 3;
    int bitrate = 0;      // kbit/s, 0 for free format
    int sample_rate = 0;  // Hz
    int channels = 0;
    int samples = 0;        // per frame
    size_t frame_size = 0;  // bytes with the header, 0 for free format
};
base::Result<MpegAudioHeader> parse_mpeg_audio(std::span<const uint8_t> frame);

struct OpusConfig {
    int channels = 2;
    int pre_skip = 0;               // samples at 48 kHz
    int input_sample_rate = 48000;  // Hz, of the encoder's input; decoding is at 48 kHz
};
base::Result<OpusConfig> parse_opus_head(std::span<const uint8_t> head);
base::Slice make_opus_head(int channels, int pre_skip, int input_sample_rate);

struct OpusPacket {
    int channels = 1;
    int frames = 1;
    int duration_us = 0;  // of the whole packet
};
base::Result<OpusPacket> parse_opus_packet(std::span<const uint8_t> packet);

struct FlacConfig {
    int sample_rate = 0;  // Hz
    int channels = 0;
    int bits_per_sample = 0;
};
// The STREAMINFO block's 34 bytes, with or without "fLaC" and the block header before them.
base::Result<FlacConfig> parse_flac_config(std::span<const uint8_t> header);

struct Ac3Header {
    bool enhanced = false;
    int sample_rate = 0;  // Hz
    int channels = 0;
    size_t frame_size = 0;  // bytes
};
base::Result<Ac3Header> parse_ac3(std::span<const uint8_t> frame);

// The number of samples in an audio frame at the track's rate, 0 when the frame does not contain it; for AAC it is in
// the configuration.
uint32_t audio_frame_samples(Codec codec, std::span<const uint8_t> frame);

}  // namespace media
