// A measuring stick: what converting audio costs, step by step, and what the encoders' options cost and give up.
//     audio [--rounds=5] FILE.ogg|FILE.flv...
// Of Opus in Ogg or AAC in FLV. Milliseconds of processor time for a second of audio, the least of the rounds; the
// quality of what was encoded and decoded again against what went in (quality.h); and the server's own transcoder, both
// ways, for 20 streams by turns.

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "audio/codecs.h"
#include "audio/ogg.h"
#include "base/result.h"
#include "convert/audio/audio_transcoder.h"
#include "protocol/flv/body.h"
#include "protocol/flv/reader.h"

namespace {

using namespace audio;

int rounds = 5;

double cpu_ms() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double least_of(const std::function<void()>& run) {
    double least = 1e12;
    for (int i = 0; i < rounds; ++i) {
        double began = cpu_ms();
        run();
        least = std::min(least, cpu_ms() - began);
    }
    return least;
}

struct Material {
    media::Codec codec = media::Codec::kNone;
    Encoded coded;
};

base::Result<Material> read_flv(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return base::fail(base::Code::kNotFound, path);
    Material material;
    flv::Reader reader;
    flv::BodyParser parser;
    char buffer[65536];
    while (file.read(buffer, sizeof buffer), file.gcount() > 0) {
        reader.feed({reinterpret_cast<const uint8_t*>(buffer), static_cast<size_t>(file.gcount())});
        while (auto tag = TRY(reader.next())) {
            auto parsed = TRY(parser.parse(tag->type, tag->body, tag->timestamp));
            if (!parsed.frame || parsed.frame->kind != media::Kind::kAudio) continue;
            const media::Frame& frame = *parsed.frame;
            material.codec = frame.codec;
            Packet bytes(frame.payload.begin(), frame.payload.end());
            if (frame.sequence_header) {
                material.coded.header = bytes;
            } else {
                material.coded.packets.push_back(std::move(bytes));
            }
        }
    }
    return material;
}

base::Result<Material> read_material(const std::string& path) {
    if (!path.ends_with(".ogg")) return read_flv(path);
    auto packets = TRY(read_ogg(path));
    if (packets.size() < 3) return base::fail(base::Code::kProtocol, path + " has no packets");
    Material material{media::Codec::kOpus, {}};
    material.coded.header = packets[0];
    material.coded.packets.assign(packets.begin() + 2, packets.end());  // behind OpusTags
    return material;
}

void print_cost(const char* what, double ms, double seconds) { std::printf("  %-44s %7.2f ms\n", what, ms / seconds); }

void try_encoder(const char* name, const char* decoder, int bitrate, const Options& options, const Pcm& source,
                 double seconds) {
    Encoded coded;
    double ms = least_of([&] { coded = encode(name, bitrate, options, source); });
    Decoded back = decode(decoder, coded.header, coded.packets);
    Quality q = compare(source, back.pcm);
    std::string words = std::string(name) + " " + std::to_string(bitrate / 1000) + "k";
    for (const auto& [key, value] : options) words += " " + key + "=" + value;
    std::printf(
        "  %-44s %7.2f ms  %6.1f kbit/s  SNR %5.2f dB  noise to mask %6.2f dB  audible %5.1f %%  level %5.2f dB\n",
        words.c_str(), ms / seconds, static_cast<double>(coded.bytes()) * 8 / 1000 / seconds, q.snr, q.noise_to_mask,
        q.audible, q.level);
}

void try_encoders(const Pcm& source, double seconds) {
    // The loss of a band above the cutoff is not audible noise but missing audio: `level`.
    const std::vector<Options> aac = {
        {},
        {{"aac_tns", "0"}},
        {{"aac_pns", "0"}},
        {{"aac_tns", "0"}, {"aac_pns", "0"}, {"aac_is", "0"}},
        {{"aac_coder", "fast"}},
        {{"aac_coder", "fast"}, {"aac_tns", "0"}},
        {{"aac_coder", "fast"}, {"aac_pns", "0"}},
        {{"aac_coder", "fast"}, {"cutoff", "8000"}},
        {{"aac_coder", "fast"}, {"cutoff", "10000"}},
        {{"aac_coder", "fast"}, {"cutoff", "12000"}},
        {{"aac_coder", "fast"}, {"cutoff", "15000"}},
        {{"aac_coder", "fast"}, {"cutoff", "18000"}},
    };
    for (int bitrate : {32'000, 48'000, 64'000, 128'000})
        for (const Options& options : aac) try_encoder("aac", "aac", bitrate, options, source, seconds);
    for (const char* complexity : {"0", "5", "6", "10"})
        for (const char* ms : {"20", "40"})
            try_encoder("libopus", "libopus", 48'000, {{"compression_level", complexity}, {"frame_duration", ms}},
                        source, seconds);
}

void try_transcoder(const char* what, media::Codec from, const Encoded& coded, int64_t packet_us, media::Codec to,
                    double seconds) {
    constexpr size_t kStreams = 20;
    convert::AudioTranscoderOptions options;
    options.from = from;
    options.from_header = base::Slice::copy(coded.header);
    options.to = to;
    options.slack_ms = 15;
    double ms = least_of([&] {
        std::vector<std::unique_ptr<convert::AudioTranscoder>> streams;
        for (size_t i = 0; i < kStreams; ++i) {
            auto made = convert::AudioTranscoder::make(options);
            CHECK(made.has_value());
            streams.push_back(std::move(*made));
        }
        std::vector<convert::EncodedAudio> out;
        int64_t time_us = 0;
        for (const Packet& packet : coded.packets) {
            for (auto& stream : streams) {
                out.clear();
                stream->push(packet, time_us, out);
            }
            time_us += packet_us;
        }
    });
    print_cost(what, ms / kStreams, seconds);
}

base::Result<void> measure(const std::string& path) {
    Material material = TRY(read_material(path));
    bool opus = material.codec == media::Codec::kOpus;
    Decoded decoded = decode(opus ? "libopus" : "aac", material.coded.header, material.coded.packets);
    Pcm source = resample(decoded, 1024);
    double seconds = static_cast<double>(source.frames()) / 48'000;
    std::printf("%s: %s, %d Hz, %d channels, %.1f s, %.1f kbit/s\n", path.c_str(), opus ? "Opus" : "AAC", decoded.rate,
                source.channels, seconds, static_cast<double>(material.coded.bytes()) * 8 / 1000 / seconds);
    // Both codecs of the same audio.
    Encoded as_opus = opus ? material.coded : encode("libopus", 64'000, {{"compression_level", "10"}}, source);
    Encoded as_aac = opus ? encode("aac", 128'000, {}, source) : material.coded;
    double opus_seconds = static_cast<double>(as_opus.packets.size()) * 0.02;
    for (const char* name : {"libopus", "opus"})
        print_cost((std::string("decode Opus by ") + name).c_str(),
                   least_of([&] { (void)decode(name, as_opus.header, as_opus.packets); }), opus_seconds);
    print_cost("decode AAC", least_of([&] { (void)decode("aac", as_aac.header, as_aac.packets); }), seconds);
    print_cost("resampler, same rate", least_of([&] { (void)resample({source, 48'000}, 960); }), seconds);
    print_cost("resampler, 44.1 kHz", least_of([&] { (void)resample({source, 44'100}, 1024); }), seconds * 48 / 44.1);
    try_transcoder("the transcoder, Opus to AAC", media::Codec::kOpus, as_opus, 20'000, media::Codec::kAac,
                   opus_seconds);
    int aac_rate = opus ? 48'000 : decoded.rate;
    try_transcoder("the transcoder, AAC to Opus", media::Codec::kAac, as_aac, 1024 * 1'000'000LL / aac_rate,
                   media::Codec::kOpus, static_cast<double>(as_aac.packets.size()) * 1024 / aac_rate);
    try_encoders(source, seconds);
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    av_log_set_level(AV_LOG_QUIET);
    bool any = false;
    for (int i = 1; i < argc; ++i) {
        std::string word = argv[i];
        if (word.starts_with("--rounds=")) {
            rounds = std::max(1, std::atoi(word.c_str() + 9));
            continue;
        }
        any = true;
        if (auto done = measure(word); !done) {
            std::fprintf(stderr, "%s\n", done.error().text().c_str());
            return 1;
        }
    }
    if (!any) std::fprintf(stderr, "audio [--rounds=5] FILE.ogg|FILE.flv...\n");
    return any ? 0 : 2;
}
