#include "protocol/mp4/testing/demuxer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "media/audio_headers.h"
#include "protocol/mp4/box_reader.h"
#include "protocol/mp4/esds.h"

namespace mp4 {

using base::ByteReader;
using base::Code;
using base::fail;
using base::Result;
using media::Codec;
using media::fourcc;
using media::Kind;

namespace {

using Bytes = std::span<const uint8_t>;

struct FileReader {
    Bytes file;
    size_t samples_left;  // of all tracks
    Demuxed out;
    std::optional<Movie> movie;
    std::vector<int64_t> next_dts;
    MovieFragment fragment;

    bool take_fragment(Bytes payload, uint64_t at) {
        if (!parse_moof(payload, at, *movie, next_dts, fragment)) return false;
        out.samples.resize(movie->tracks.size());
        for (const Run& run : fragment.runs) {
            auto& samples = out.samples[run.track];
            auto first = fragment.samples.begin() + static_cast<ptrdiff_t>(run.first);
            if (first->offset > file.size() || run.end > file.size() || run.end < first->offset) return false;
            if (run.count > samples_left) return false;
            samples_left -= run.count;
            samples.insert(samples.end(), first, first + static_cast<ptrdiff_t>(run.count));
        }
        return true;
    }

    // The samples of a plain file, or those that a fragmented file has before its fragments.
    Result<void> take_tables() {
        for (size_t i = 0; i < movie->tracks.size(); ++i) {
            out.samples.push_back(TRY(expand(movie->tracks[i], samples_left)));
            samples_left -= out.samples[i].size();
            int64_t end = 0;
            for (const Sample& s : out.samples[i]) {
                if (s.offset > file.size() || s.size > file.size() - s.offset) {
                    return fail(Code::kProtocol, fmt::format("MP4: a sample of {} bytes at {} in a file of {}", s.size,
                                                             s.offset, file.size()));
                }
                end = s.dts + s.duration;
            }
            next_dts.push_back(end);
        }
        return {};
    }

    Result<void> read_boxes() {
        for (size_t at = 0; at < file.size();) {
            auto head = read_box_head(file.subspan(at));
            if (head && head->size == 0) head->size = file.size() - at;
            if (!head || !head->valid || head->size > file.size() - at) break;
            Bytes payload = file.subspan(at + head->header_size, head->size - head->header_size);
            if (head->type == fourcc("moov")) {
                auto read = TRY(parse_moov(payload));
                if (movie) {
                    // It may have more tracks and sample entries; the samples come from the fragments.
                    if (!merge_tracks(*movie, std::move(read.tracks))) break;
                } else {
                    movie = std::move(read);
                    TRY(take_tables());
                }
            } else if (head->type == fourcc("moof") && movie) {
                if (!take_fragment(payload, at)) break;
            }
            at += head->size;
        }
        if (!movie) return fail(Code::kProtocol, "MP4: no moov");
        return {};
    }
};

}  // namespace

Result<Demuxed> demux(Bytes file, size_t max_samples) {
    FileReader reader{file, max_samples, {}, {}, {}, {}};
    TRY(reader.read_boxes());
    Demuxed& out = reader.out;
    out.movie = std::move(*reader.movie);
    out.samples.resize(out.movie.tracks.size());
    return std::move(out);
}

media::Frame frame_of(Bytes file, const Track& track, const Sample& sample) {
    media::Frame frame;
    frame.kind = track.kind;
    frame.track = track.index;
    frame.codec = track.codec;
    frame.keyframe = track.kind == Kind::kVideo && sample.sync;
    frame.dts = media::from_ticks(sample.dts, track.timescale);
    frame.cts = media::from_ticks(sample.cts, track.timescale);
    frame.payload = base::Slice::copy(file.subspan(sample.offset, sample.size));
    return frame;
}

namespace {

// The payload of the box of that type in a sample entry.
Result<Bytes> config_of(const Track& track, Bytes entry, uint32_t type) {
    // Skips the box header and the fields of VisualSampleEntry or AudioSampleEntry.
    size_t fields = 8 + (track.kind == Kind::kVideo ? 78 : 28);
    BoxReader boxes(entry.size() > fields ? entry.subspan(fields) : Bytes());
    while (auto box = boxes.next()) {
        if (box->type == type) return box->payload;
    }
    return fail(Code::kProtocol, "MP4: a sample entry without its configuration");
}

base::Slice opus_head(Bytes dops) {
    ByteReader r(dops);
    r.skip(1);
    int channels = r.u8(), pre_skip = r.u16();
    auto rate = static_cast<int>(r.u32() & INT32_MAX);
    return media::make_opus_head(channels, pre_skip, rate);
}

}  // namespace

Result<media::Frame> header_of(const Track& track, Bytes entry) {
    media::Frame frame;
    frame.kind = track.kind;
    frame.track = track.index;
    frame.codec = track.codec;
    frame.sequence_header = true;
    switch (track.codec) {
        case Codec::kH264:
            frame.payload = base::Slice::copy(TRY(config_of(track, entry, fourcc("avcC"))));
            break;
        case Codec::kHevc:
            frame.payload = base::Slice::copy(TRY(config_of(track, entry, fourcc("hvcC"))));
            break;
        case Codec::kAv1:
            frame.payload = base::Slice::copy(TRY(config_of(track, entry, fourcc("av1C"))));
            break;
        case Codec::kVp9:
            frame.payload = base::Slice::copy(TRY(config_of(track, entry, fourcc("vpcC"))));
            break;
        case Codec::kAac:
            frame.payload =
                base::Slice::copy(TRY(parse_esds(TRY(config_of(track, entry, fourcc("esds"))))).specific_info);
            break;
        case Codec::kOpus:
            frame.payload = opus_head(TRY(config_of(track, entry, fourcc("dOps"))));
            break;
        case Codec::kFlac:
            frame.payload = base::Slice::copy(TRY(config_of(track, entry, fourcc("dfLa"))).subspan(4));
            break;
        default:
            break;
    }
    return frame;
}

}  // namespace mp4
