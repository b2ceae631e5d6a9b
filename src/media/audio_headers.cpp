#include "media/audio_headers.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "base/bits.h"
#include "base/bytes.h"

namespace media {

using base::BitReader;
using base::ByteReader;
using base::Code;
using base::fail;
using base::Result;

namespace {

// kbit/s by version (1; 2 and 2.5), layer, index.
constexpr int kBitrates[2][3][15] = {
    {{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
     {0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
     {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}},
    {{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
     {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
     {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}},
};
constexpr int kMpegRates[] = {44100, 48000, 32000};

}  // namespace

Result<MpegAudioHeader> parse_mpeg_audio(std::span<const uint8_t> p) {
    if (p.size() < 4) return fail(Code::kProtocol, fmt::format("MPEG audio frame of {} bytes", p.size()));
    if (p[0] != 0xff || (p[1] & 0xe0) != 0xe0) return fail(Code::kProtocol, "MPEG audio frame without its sync word");
    unsigned version = p[1] >> 3 & 3;
    unsigned layer = p[1] >> 1 & 3;
    unsigned bitrate = p[2] >> 4;
    unsigned rate = p[2] >> 2 & 3;
    if (version == 1 || layer == 0 || bitrate == 15 || rate == 3) {
        return fail(Code::kProtocol, "MPEG audio frame with a reserved value in its header");
    }
    MpegAudioHeader h;
    h.version = version == 3 ? 1 : version == 2 ? 2 : 25;
    h.layer = static_cast<int>(4 - layer);
    h.bitrate = kBitrates[h.version == 1 ? 0 : 1][h.layer - 1][bitrate];
    h.sample_rate = kMpegRates[rate] / (h.version == 1 ? 1 : h.version == 2 ? 2 : 4);
    h.channels = p[3] >> 6 == 3 ? 1 : 2;
    h.samples = h.layer == 1 ? 384 : h.layer == 3 && h.version != 1 ? 576 : 1152;
    int slot = h.layer == 1 ? 4 : 1;
    int slots = h.samples / 8 * h.bitrate * 1000 / h.sample_rate / slot + (p[2] >> 1 & 1);
    if (h.bitrate) h.frame_size = static_cast<size_t>(slots * slot);
    return h;
}

Result<OpusConfig> parse_opus_head(std::span<const uint8_t> head) {
    ByteReader r(head);
    if (r.text(8) != "OpusHead") return fail(Code::kProtocol, "OpusHead without its signature");
    uint8_t version = r.u8();
    OpusConfig config;
    config.channels = r.u8();
    config.pre_skip = __builtin_bswap16(r.u16());
    config.input_sample_rate = static_cast<int>(r.u32le() & INT32_MAX);
    r.skip(3);  // gain, mapping family
    if (!r.ok()) return fail(Code::kProtocol, "OpusHead: too short");
    if (version >> 4 != 0) return fail(Code::kProtocol, fmt::format("OpusHead of version {}", version));
    if (config.channels == 0) return fail(Code::kProtocol, "OpusHead without channels");
    return config;
}

base::Slice make_opus_head(int channels, int pre_skip, int input_sample_rate) {
    std::vector<uint8_t> out;
    base::ByteWriter w(out);
    w.text("OpusHead");
    w.u8(1);
    w.u8(static_cast<uint8_t>(channels));
    w.u16(__builtin_bswap16(static_cast<uint16_t>(pre_skip)));
    w.u32le(static_cast<uint32_t>(input_sample_rate));
    w.u16(0);
    w.u8(0);  // mapping family 0: mono or stereo
    return base::Slice::copy(out);
}

Result<OpusPacket> parse_opus_packet(std::span<const uint8_t> packet) {
    if (packet.empty()) return fail(Code::kProtocol, "Opus packet of 0 bytes");
    constexpr int kSilk[] = {10000, 20000, 40000, 60000};
    unsigned config = packet[0] >> 3;
    int frame_us = config < 12 ? kSilk[config & 3] : config < 16 ? kSilk[config & 1] : 2500 << (config & 3);
    OpusPacket p;
    p.channels = packet[0] & 4 ? 2 : 1;
    switch (packet[0] & 3) {
        case 0:
            p.frames = 1;
            break;
        case 3:
            if (packet.size() < 2) return fail(Code::kProtocol, "Opus packet without its frame count");
            p.frames = packet[1] & 63;
            break;
        default:
            p.frames = 2;
    }
    p.duration_us = p.frames * frame_us;
    if (p.frames == 0 || p.duration_us > 120000) {
        return fail(Code::kProtocol, fmt::format("Opus packet of {} frames, {} us", p.frames, p.duration_us));
    }
    return p;
}

Result<FlacConfig> parse_flac_config(std::span<const uint8_t> header) {
    constexpr size_t kStreamInfo = 34;
    if (header.size() >= 4 && std::memcmp(header.data(), "fLaC", 4) == 0) header = header.subspan(4);
    // A block header: type 0 (STREAMINFO), its length.
    if (header.size() >= kStreamInfo + 4 && (header[0] & 0x7f) == 0) header = header.subspan(4);
    if (header.size() < kStreamInfo) {
        return fail(Code::kProtocol, fmt::format("FLAC STREAMINFO of {} bytes", header.size()));
    }
    BitReader b(header.subspan(10));
    FlacConfig config;
    config.sample_rate = static_cast<int>(b.bits(20));
    config.channels = static_cast<int>(b.bits(3)) + 1;
    config.bits_per_sample = static_cast<int>(b.bits(5)) + 1;
    if (config.sample_rate == 0) return fail(Code::kProtocol, "FLAC STREAMINFO with sample rate 0");
    return config;
}

namespace {

constexpr int kAc3Rates[] = {48000, 44100, 32000};
constexpr int kAc3Channels[] = {2, 1, 2, 3, 3, 4, 4, 5};  // by acmod
constexpr int kAc3Bitrates[] = {32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640};

Result<Ac3Header> read_eac3(BitReader& b) {
    Ac3Header h;
    h.enhanced = true;
    b.skip(2 + 3);  // stream type, substream id
    h.frame_size = (b.bits(11) + 1) * size_t{2};
    uint32_t rate = b.bits(2);
    uint32_t half_rate = b.bits(2);  // or the number of blocks
    if (rate == 3 && half_rate == 3) return fail(Code::kProtocol, "E-AC-3 frame: a reserved sample rate");
    h.sample_rate = rate == 3 ? kAc3Rates[half_rate] / 2 : kAc3Rates[rate];
    uint32_t mode = b.bits(3);
    h.channels = kAc3Channels[mode] + static_cast<int>(b.bit());
    if (!b.ok()) return fail(Code::kProtocol, "E-AC-3 frame: too short");
    return h;
}

Result<Ac3Header> read_ac3(BitReader& b) {
    Ac3Header h;
    b.skip(16);  // crc1
    uint32_t rate = b.bits(2);
    uint32_t size_code = b.bits(6);
    b.skip(5 + 3);  // bsid, bsmod
    uint32_t mode = b.bits(3);
    if (mode & 1 && mode != 1) b.skip(2);
    if (mode & 4) b.skip(2);
    if (mode == 2) b.skip(2);
    h.channels = kAc3Channels[mode] + static_cast<int>(b.bit());
    if (!b.ok()) return fail(Code::kProtocol, "AC-3 frame: too short");
    if (rate == 3 || size_code >= 38) return fail(Code::kProtocol, "AC-3 frame: a reserved rate");
    h.sample_rate = kAc3Rates[rate];
    int words = kAc3Bitrates[size_code / 2] * 96000 / h.sample_rate;  // of 1536 samples
    if (rate == 1) words += static_cast<int>(size_code & 1);
    h.frame_size = static_cast<size_t>(words) * 2;
    return h;
}

}  // namespace

Result<Ac3Header> parse_ac3(std::span<const uint8_t> frame) {
    if (frame.size() < 6) return fail(Code::kProtocol, fmt::format("AC-3 frame of {} bytes", frame.size()));
    if (frame[0] != 0x0b || frame[1] != 0x77) return fail(Code::kProtocol, "AC-3 frame without its sync word");
    BitReader b(frame.subspan(2));
    return frame[5] >> 3 > 10 ? read_eac3(b) : read_ac3(b);
}

}  // namespace media
