// remux: an FLV file into MP4 by the server's own muxer, for comparing what came out with what went in, without a
// server.
//
//   objs/remux [--fragment=MS] IN.flv OUT.mp4     fragments of that length at most (1000), begun at keyframes as well

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "protocol/flv/body.h"
#include "protocol/flv/reader.h"
#include "protocol/mp4/fragment.h"

namespace {

struct Options {
    int64_t fragment_ms = 1000;
    std::string in, out;
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
base::Result<void> set_headers(mp4::FragmentBuilder& builder, const std::vector<media::Frame>& frames) {
    for (media::Kind kind : {media::Kind::kVideo, media::Kind::kAudio}) {
        const media::Frame* header = nullptr;
        const media::Frame* key = nullptr;
        for (const media::Frame& frame : frames) {
            if (frame.kind != kind) continue;
            if (!header && (frame.sequence_header || !media::codec_info(frame.codec).has_sequence_header))
                header = &frame;
            if (!key && frame.keyframe) key = &frame;
        }
        if (header) TRY(builder.set_header(*header, key));
    }
    return {};
}

void put(std::ofstream& out, std::span<const uint8_t> bytes) {
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

base::Result<void> remux(const Options& options) {
    auto frames = TRY(read_flv(options.in));
    mp4::FragmentBuilder builder;
    TRY(set_headers(builder, frames));
    std::ofstream out(options.out, std::ios::binary);
    put(out, builder.recording_head());
    auto cut = [&](const mp4::CutOptions& how) {
        for (auto piece : builder.cut(how).pieces) put(out, piece);
    };
    for (const media::Frame& frame : frames) {
        bool video = frame.kind == media::Kind::kVideo;
        if (frame.sequence_header) {
            cut({.seal = true});
            if (TRY(builder.set_header(frame))) put(out, builder.moov());
            continue;
        }
        bool lead = video || !builder.has(media::Kind::kVideo);
        if (lead && (frame.keyframe || builder.span_ms() >= options.fragment_ms)) {
            cut({.next_video_dts = video ? std::optional(frame.dts) : std::nullopt, .seal = true});
        }
        TRY(builder.add(frame));
    }
    cut({.seal = true});
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    std::vector<std::string> names;
    for (int i = 1; i < argc; ++i) {
        if (std::strncmp(argv[i], "--fragment=", 11) == 0) {
            options.fragment_ms = std::atoll(argv[i] + 11);
        } else {
            names.emplace_back(argv[i]);
        }
    }
    if (names.size() != 2) {
        std::fprintf(stderr, "remux [--fragment=MS] IN.flv OUT.mp4\n");
        return 2;
    }
    options.in = names[0];
    options.out = names[1];
    if (auto done = remux(options); !done) {
        std::fprintf(stderr, "remux: %s\n", done.error().describe().c_str());
        return 1;
    }
    return 0;
}
