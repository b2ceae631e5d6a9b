// remux: an FLV file into MP4 by the server's own muxer, for comparing what came out with what went in, without a
// server.
//
//   objs/remux [--fragment=MS] [--head=BYTES] [--repeat=N] [--languages=eng,pt-BR,...] IN.flv OUT.mp4
//       a recording: fragments of MS at most (1000), begun at keyframes as well; room at its head (64 kB); the file's
//       frames N times, one after the other; its tracks once for each language, labelled "In eng", each 100 ms later
//       than the one before
//   objs/remux --finish [--copy] FILE.mp4 ...
//       makes plain files of such recordings; --copy: as on a file system that cannot put room in
//   objs/remux --packets FILE.mp4 ...
//       what the server's reader finds: kind, dts and pts in ms (edit lists not applied), K for key frames, size, place

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "protocol/flv/body.h"
#include "protocol/flv/reader.h"
#include "protocol/mp4/fragment.h"
#include "protocol/mp4/testing/demuxer.h"
#include "service/dvr/finish_mp4.h"

namespace {

constexpr media::Time kTrackDelay = std::chrono::milliseconds(100);

struct Options {
    int64_t fragment_ms = 1000;
    size_t head = mp4::kRecordingHead;
    int repeat = 1;
    std::vector<std::string> languages{""};
    bool finish = false;
    bool copy = false;
    bool packets = false;
    std::vector<std::string> files;
};

base::Result<std::vector<media::Frame>> read_flv(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return base::fail(base::Code::kNotFound, path);
    flv::Reader reader;
    flv::BodyParser parser;
    std::vector<media::Frame> frames;
    char buffer[65536];
    while (file.read(buffer, sizeof buffer), file.gcount() > 0) {
        reader.feed({reinterpret_cast<const uint8_t*>(buffer), static_cast<size_t>(file.gcount())});
        while (auto tag = TRY(reader.next())) {
            auto parsed = TRY(parser.parse(tag->type, tag->body, tag->timestamp));
            if (parsed.frame && parsed.frame->kind != media::Kind::kData) frames.push_back(std::move(*parsed.frame));
        }
    }
    return frames;
}

// The tracks, as they are known from the file's front.
base::Result<void> set_headers(mp4::FragmentBuilder& builder, const std::vector<media::Frame>& frames,
                               const std::vector<std::string>& languages) {
    for (media::Kind kind : {media::Kind::kVideo, media::Kind::kAudio}) {
        const media::Frame* header = nullptr;
        const media::Frame* key = nullptr;
        for (const media::Frame& frame : frames) {
            if (frame.kind != kind) continue;
            if (!header && (frame.sequence_header || !media::codec_info(frame.codec).has_sequence_header))
                header = &frame;
            if (!key && frame.keyframe) key = &frame;
        }
        for (size_t i = 0; header && i < languages.size(); ++i) {
            media::Frame of_track = *header;
            of_track.track = static_cast<uint8_t>(i);
            TRY(builder.set_header(of_track, key));
            if (!languages[i].empty()) builder.set_names(kind, of_track.track, languages[i], "In " + languages[i]);
        }
    }
    return {};
}

void put(std::ofstream& out, std::span<const uint8_t> bytes) {
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

base::Result<void> remux(const Options& options) {
    auto frames = TRY(read_flv(options.files[0]));
    mp4::FragmentBuilder builder;
    TRY(set_headers(builder, frames, options.languages));
    std::ofstream out(options.files[1], std::ios::binary);
    put(out, builder.recording_head(options.head));
    // Another moov is of use only when there is another fragment.
    bool moov_changed = false;
    auto cut = [&](const mp4::CutOptions& how) {
        auto fragment = builder.cut(how);
        if (fragment.size && std::exchange(moov_changed, false)) put(out, builder.moov());
        for (auto piece : fragment.pieces) put(out, piece);
    };
    if (frames.empty()) return base::fail(base::Code::kProtocol, "no frames");
    const media::Time length = media::from_ms(media::to_ms(frames.back().dts - frames.front().dts) + 40);
    for (size_t i = 0; i < frames.size() * static_cast<size_t>(options.repeat); ++i) {
        media::Frame frame = frames[i % frames.size()];
        frame.dts += static_cast<int64_t>(i / frames.size()) * length;
        bool video = frame.kind == media::Kind::kVideo;
        if (frame.sequence_header) {
            cut({.seal = true});
            for (frame.track = 0; frame.track < options.languages.size(); ++frame.track)
                moov_changed |= TRY(builder.set_header(frame));
            continue;
        }
        bool lead = video || !builder.has(media::Kind::kVideo);
        if (lead && (frame.keyframe || builder.span() >= media::from_ms(options.fragment_ms))) {
            cut({.next_video_dts = video ? std::optional(frame.dts) : std::nullopt, .seal = true});
        }
        for (; frame.track < options.languages.size(); ++frame.track, frame.dts += kTrackDelay) TRY(builder.add(frame));
    }
    cut({.seal = true});
    return {};
}

base::Result<void> finish(const Options& options) {
    constexpr const char* kHow[] = {"in its room", "room put in", "copied"};
    for (const std::string& path : options.files) {
        auto done = TRY(service::dvr::finish_mp4(path, {.insert = !options.copy}));
        std::printf("%s: %s, %zu samples, %lld ms, %zu bytes, %zu cut\n", path.c_str(),
                    done.was_finished ? "finished already" : kHow[static_cast<int>(done.how)], size_t{done.samples},
                    static_cast<long long>(done.duration_ms), size_t{done.bytes}, size_t{done.cut_bytes});
    }
    return {};
}

base::Result<void> packets(const Options& options) {
    for (const std::string& path : options.files) {
        std::ifstream file(path, std::ios::binary);
        std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
        mp4::Demuxed read = TRY(mp4::demux(bytes), path);
        for (size_t i = 0; i < read.samples.size(); ++i) {
            const mp4::Track& track = read.movie.tracks[i].track;
            double scale = track.timescale / 1000.0;
            const char* kind = track.kind == media::Kind::kVideo ? "video" : "audio";
            for (const mp4::Sample& s : read.samples[i]) {
                std::printf("%s %.3f %.3f %c %u %zu\n", kind, static_cast<double>(s.dts) / scale,
                            static_cast<double>(s.dts + s.cts) / scale, s.sync ? 'K' : '_', s.size, size_t{s.offset});
            }
        }
    }
    return {};
}

bool parse(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; ++i) {
        std::string word = argv[i];
        if (word.starts_with("--fragment=")) {
            options.fragment_ms = std::atoll(argv[i] + 11);
        } else if (word.starts_with("--head=")) {
            options.head = static_cast<size_t>(std::atoll(argv[i] + 7));
        } else if (word.starts_with("--repeat=")) {
            options.repeat = std::atoi(argv[i] + 9);
        } else if (word.starts_with("--languages=")) {
            options.languages.clear();
            std::istringstream list(word.substr(12));
            for (std::string one; std::getline(list, one, ',');) options.languages.push_back(one);
            if (options.languages.size() > media::kMaxTracks) return false;
        } else if (word == "--finish") {
            options.finish = true;
        } else if (word == "--packets") {
            options.packets = true;
        } else if (word == "--copy") {
            options.copy = true;
        } else if (word.starts_with("--")) {
            return false;
        } else {
            options.files.push_back(word);
        }
    }
    return options.finish || options.packets ? !options.files.empty() : options.files.size() == 2;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    if (!parse(argc, argv, options)) {
        std::fprintf(stderr,
                     "remux [--fragment=MS] [--head=BYTES] [--repeat=N] [--languages=eng,pt-BR,...] IN.flv OUT.mp4\n"
                     "remux --finish [--copy] FILE.mp4 ...\nremux --packets FILE.mp4 ...\n");
        return 2;
    }
    auto done = options.finish ? finish(options) : options.packets ? packets(options) : remux(options);
    if (!done) {
        std::fprintf(stderr, "remux: %s\n", done.error().describe().c_str());
        return 1;
    }
    return 0;
}
