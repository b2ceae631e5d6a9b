// The audio transcoder: any header and packets of AAC, MP3, Opus and G.711, with hostile times. Packets are arbitrary,
// or valid ones of our own encoders with bytes changed, which the decoders take to pieces deep enough. The first bytes
// choose the codecs; each packet is a byte of flags, a step of the time in ms, and its content.
//
// A packet makes a bounded number of packets; those are never empty; but where the source's times have jumped, theirs
// are near to those of the source, and do not go back.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "convert/audio/audio_transcoder.h"
#include "media/aac.h"

namespace {

using convert::AudioTranscoder;
using convert::AudioTranscoderOptions;
using convert::EncodedAudio;
using media::Codec;

constexpr size_t kMaxPackets = 100;
// The longest audio of one packet: a decoder's frame at its lowest rate, and a gap that is filled.
constexpr int64_t kMaxMs = 1'000 + 1'000;

AudioTranscoderOptions options_of(base::ByteReader& in) {
    static constexpr Codec kFrom[] = {Codec::kAac, Codec::kOpus, Codec::kMp3, Codec::kPcmAlaw, Codec::kPcmUlaw};
    static constexpr int kRates[] = {8000, 11'025, 16'000, 22'050, 32'000, 44'100, 48'000, 96'000};
    static constexpr int kPtimes[] = {20, 40, 60};
    const uint8_t form = in.u8(), more = in.u8();
    AudioTranscoderOptions options;
    options.from = kFrom[form % std::size(kFrom)];
    options.to = form & 0x80 ? Codec::kAac : Codec::kOpus;
    options.from_channels = form & 0x40 ? 1 : 2;
    options.from_rate = kRates[more % std::size(kRates)];
    options.opus_ptime_ms = kPtimes[(more >> 3) % std::size(kPtimes)];
    options.slack_ms = more & 0x20 ? 15 : 60;
    if (more & 0x40) {
        const auto header = in.bytes(std::min<size_t>(in.u8(), in.left()));
        options.from_header = base::Slice::copy(header);
    } else if (options.from == Codec::kAac) {
        options.from_header = media::make_aac_config(2, options.from_rate, options.from_channels);
    }
    return options;
}

// Packets of our encoders, from noise.
const std::vector<EncodedAudio>& valid_packets(Codec codec) {
    static std::vector<EncodedAudio> made[2];
    auto& packets = made[codec == Codec::kAac];
    if (!packets.empty()) return packets;
    AudioTranscoderOptions options;
    options.from = Codec::kPcmAlaw;
    options.to = codec;
    auto encoder = AudioTranscoder::make(options);
    CHECK(encoder);
    std::vector<uint8_t> noise(320);
    uint32_t state = 1;
    for (int i = 0; i < 20; ++i) {
        for (uint8_t& sample : noise) sample = static_cast<uint8_t>((state = state * 1'103'515'245 + 12'345) >> 16);
        (*encoder)->push(noise, i * 20'000, packets);
    }
    CHECK(packets.size() > 5);
    return packets;
}

std::vector<uint8_t> packet_of(base::ByteReader& in, uint8_t flags, Codec codec) {
    std::vector<uint8_t> packet;
    if ((flags & 1) == 0 && (codec == Codec::kAac || codec == Codec::kOpus)) {
        const auto& valid = valid_packets(codec);
        const base::Slice& payload = valid[in.u8() % valid.size()].payload;
        packet.assign(payload.bytes().begin(), payload.bytes().end());
    } else {
        const auto bytes = in.bytes(std::min<size_t>(in.u8(), in.left()));
        packet.assign(bytes.begin(), bytes.end());
        if (flags & 2) packet.resize(packet.size() * 16);  // G.711 of any length
    }
    for (int left = flags >> 5; left > 0 && !packet.empty(); --left) {
        const size_t at = in.u8();
        packet[at % packet.size()] ^= in.u8();
    }
    return packet;
}

// What is known of the packets so far.
struct Times {
    static constexpr size_t kDelayed = 3;  // packets of before a jump: one is completed there, AAC has two
    int64_t last = INT64_MIN;
    size_t since_jump = 0;
    uint64_t jumps = 0;
};

void check(const AudioTranscoder& to, const std::vector<EncodedAudio>& out, int frame_size,
           std::optional<int64_t> source_us, Times& times) {
    if (times.jumps != to.counters().jumps) times.since_jump = 0;
    times.jumps = to.counters().jumps;
    for (const EncodedAudio& packet : out) {
        CHECK(!packet.payload.empty() && packet.payload.size() <= 8 * 1024);
        if (times.since_jump++ >= Times::kDelayed) {
            CHECK(packet.time > times.last);
            CHECK(!source_us || std::abs(packet.time * 1'000'000 / to.sample_rate() - *source_us) <= kMaxMs * 1000);
        }
        times.last = packet.time;
    }
    CHECK(out.size() <= static_cast<size_t>(kMaxMs * to.sample_rate() / 1000 / frame_size + 2));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    base::ByteReader in({data, size});
    const AudioTranscoderOptions options = options_of(in);
    auto made = AudioTranscoder::make(options);
    if (!made) return 0;
    AudioTranscoder& to = **made;
    CHECK(to.channels() == 1 || to.channels() == 2);
    const int frame_size =
        options.to == Codec::kAac ? 1024 : options.opus_ptime_ms * AudioTranscoder::kSampleRate / 1000;
    int64_t time_us = 0;
    Times times;
    std::vector<EncodedAudio> out;
    for (size_t packets = 0; packets < kMaxPackets && in.left() > 0; ++packets) {
        const uint8_t flags = in.u8();
        time_us += static_cast<int8_t>(in.u8()) * int64_t{1000};
        if (flags & 4) time_us += static_cast<int32_t>(in.u32()) * int64_t{1000};
        const std::vector<uint8_t> packet = packet_of(in, flags, options.from);
        out.clear();
        to.push(packet, time_us, out);
        check(to, out, frame_size, time_us, times);
        CHECK(to.packets_until_output() >= 1);
    }
    out.clear();
    to.finish(out);
    check(to, out, frame_size, {}, times);
    return 0;
}
