#include "protocol/mp4/movie.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/bytes.h"
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

std::unexpected<base::Error> short_box(std::string_view name) {
    return fail(Code::kProtocol, fmt::format("MP4: the box {} is too short", name));
}

Codec codec_of(uint32_t type) {
    switch (type) {
        case fourcc("avc1"):
        case fourcc("avc3"):
            return Codec::kH264;
        case fourcc("hvc1"):
        case fourcc("hev1"):
            return Codec::kHevc;
        case fourcc("av01"):
            return Codec::kAv1;
        case fourcc("vp09"):
            return Codec::kVp9;
        case fourcc("vp08"):
            return Codec::kVp8;
        case fourcc("Opus"):
            return Codec::kOpus;
        case fourcc("fLaC"):
            return Codec::kFlac;
        case fourcc("ac-3"):
            return Codec::kAc3;
        case fourcc("ec-3"):
            return Codec::kEac3;
        default:
            return Codec::kNone;  // mp4a: depends on its descriptor
    }
}

Codec codec_of_mp4a(Bytes entry) {
    constexpr size_t kAudioFields = 28;
    BoxReader boxes(entry.size() > kAudioFields ? entry.subspan(kAudioFields) : Bytes());
    while (auto box = boxes.next()) {
        if (box->type != fourcc("esds")) continue;
        auto esds = parse_esds(box->payload);
        if (!esds) return Codec::kNone;
        if (esds->object_type == 0x40) return Codec::kAac;
        return esds->object_type == 0x6b || esds->object_type == 0x69 ? Codec::kMp3 : Codec::kNone;
    }
    return Codec::kNone;
}

// The table of a full box: a count, then entries of that size.
Result<Bytes> table(Bytes payload, size_t entry_size, std::string_view name) {
    ByteReader r(payload);
    r.skip(4);
    uint64_t count = r.u32();
    if (!r.ok() || count * entry_size > r.left()) return short_box(name);
    return r.bytes(count * entry_size);
}

Result<void> read_stsd(Bytes payload, Track& track) {
    ByteReader r(payload);
    r.skip(8);
    if (!r.ok()) return short_box("stsd");
    Bytes rest = r.rest();
    BoxReader boxes(rest);
    const uint8_t* at = rest.data();
    while (auto box = boxes.next()) {
        const uint8_t* end = box->payload.data() + box->payload.size();
        if (track.entries.size() == kMaxEntries) return fail(Code::kLimit, "MP4: too many sample entries");
        track.entries.emplace_back(at, end);
        if (track.entries.size() == 1) {
            track.codec = box->type == fourcc("mp4a") ? codec_of_mp4a(box->payload) : codec_of(box->type);
        }
        at = end;
    }
    if (!boxes.ok()) return short_box("stsd");
    return {};
}

Result<void> read_stsz(Bytes payload, SampleTableBytes& t) {
    ByteReader r(payload);
    r.skip(4);
    t.fixed_size = r.u32();
    t.samples = r.u32();
    if (!r.ok()) return short_box("stsz");
    if (t.fixed_size) return {};
    if (uint64_t{t.samples} * 4 > r.left()) return short_box("stsz");
    t.stsz = r.bytes(size_t{t.samples} * 4);
    return {};
}

Result<void> read_stbl(Bytes payload, MovieTrack& out) {
    SampleTableBytes& t = out.tables;
    BoxReader boxes(payload);
    while (auto box = boxes.next()) {
        switch (box->type) {
            case fourcc("stsd"):
                TRY(read_stsd(box->payload, out.track));
                break;
            case fourcc("stts"):
                t.stts = TRY(table(box->payload, 8, "stts"));
                break;
            case fourcc("ctts"):
                t.ctts = TRY(table(box->payload, 8, "ctts"));
                break;
            case fourcc("stsc"):
                t.stsc = TRY(table(box->payload, 12, "stsc"));
                break;
            case fourcc("stsz"):
                TRY(read_stsz(box->payload, t));
                break;
            case fourcc("stco"):
            case fourcc("co64"):
                t.long_offsets = box->type == fourcc("co64");
                t.chunk_offsets = TRY(table(box->payload, t.long_offsets ? 8 : 4, "stco"));
                break;
            case fourcc("stss"):
                t.stss = TRY(table(box->payload, 4, "stss"));
                t.all_sync = false;
                break;
            default:
                break;
        }
    }
    if (!boxes.ok()) return short_box("stbl");
    return {};
}

// Both versions of mvhd and mdhd: times of 32 or 64 bits, then the time scale and the duration.
Result<void> read_times(Bytes payload, uint32_t& timescale, uint64_t& duration) {
    ByteReader r(payload);
    bool wide = r.u8() == 1;
    r.skip(3 + (wide ? 16 : 8));
    timescale = r.u32();
    duration = wide ? r.u64() : r.u32();
    if (!r.ok()) return short_box("mvhd or mdhd");
    if (timescale == 0) return fail(Code::kProtocol, "MP4: a time scale of 0");
    return {};
}

// The language in mdhd: three letters of 5 bits each. QuickTime's own codes are no letters.
std::string read_language(Bytes mdhd) {
    ByteReader r(mdhd);
    r.skip(r.u8() == 1 ? 31 : 19);
    uint16_t packed = r.u16();
    std::string code;
    for (int shift = 10; shift >= 0; shift -= 5) code += static_cast<char>(0x60 + (packed >> shift & 0x1f));
    return r.ok() ? language_tag(code) : std::string();
}

// The text before a terminating 0, if there is one.
std::string_view text_of(Bytes bytes) {
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text.substr(0, text.find('\0'));
}

void read_handler(Bytes hdlr, Track& track) {
    ByteReader r(hdlr);
    r.skip(8);
    uint32_t handler = r.u32();
    if (handler == fourcc("vide")) track.kind = Kind::kVideo;
    if (handler == fourcc("soun")) track.kind = Kind::kAudio;
    r.skip(12);
    if (!r.ok()) return;
    track.label = track_label(text_of(r.bytes(r.left())));
    if (track.label == unlabelled(track.kind)) track.label.clear();
}

Result<void> read_mdia(Bytes payload, MovieTrack& out) {
    BoxReader boxes(payload);
    while (auto box = boxes.next()) {
        if (box->type == fourcc("mdhd")) {
            TRY(read_times(box->payload, out.track.timescale, out.duration));
            if (out.track.language.empty()) out.track.language = read_language(box->payload);
        } else if (box->type == fourcc("elng")) {
            // It says more than mdhd.
            std::string language =
                language_tag(text_of(box->payload.subspan(std::min<size_t>(4, box->payload.size()))));
            if (!language.empty()) out.track.language = std::move(language);
        } else if (box->type == fourcc("hdlr")) {
            read_handler(box->payload, out.track);
        } else if (box->type == fourcc("minf")) {
            BoxReader parts(box->payload);
            while (auto part = parts.next()) {
                if (part->type == fourcc("stbl")) TRY(read_stbl(part->payload, out));
            }
            if (!parts.ok()) return short_box("minf");
        }
    }
    if (!boxes.ok()) return short_box("mdia");
    if (out.track.timescale == 0) return fail(Code::kProtocol, "MP4: a track without mdhd");
    return {};
}

Result<void> read_tkhd(Bytes payload, Track& track) {
    ByteReader r(payload);
    bool wide = r.u8() == 1;
    r.skip(3 + (wide ? 16 : 8));
    track.id = r.u32();
    r.skip(4 + (wide ? 8 : 4) + 8 + 8 + 36);
    track.width = static_cast<int>(r.u32() >> 16);
    track.height = static_cast<int>(r.u32() >> 16);
    if (!r.ok()) return short_box("tkhd");
    return {};
}

Result<void> read_edits(Bytes payload, std::vector<Edit>& out) {
    BoxReader boxes(payload);
    while (auto box = boxes.next()) {
        if (box->type != fourcc("elst")) continue;
        bool wide = !box->payload.empty() && box->payload[0] == 1;
        ByteReader r(TRY(table(box->payload, wide ? 20 : 12, "elst")));
        while (r.left()) {
            Edit edit;
            edit.duration = wide ? r.u64() : r.u32();
            edit.media_time = wide ? static_cast<int64_t>(r.u64()) : static_cast<int32_t>(r.u32());
            r.skip(4);
            out.push_back(edit);
        }
    }
    return {};
}

size_t tracks_of(const Movie& movie, Kind kind) {
    auto of_kind = [&](const MovieTrack& track) { return track.track.kind == kind; };
    return static_cast<size_t>(std::ranges::count_if(movie.tracks, of_kind));
}

Result<void> read_trak(Bytes payload, Movie& movie) {
    MovieTrack track;
    BoxReader boxes(payload);
    while (auto box = boxes.next()) {
        if (box->type == fourcc("tkhd")) TRY(read_tkhd(box->payload, track.track));
        if (box->type == fourcc("edts")) TRY(read_edits(box->payload, track.edits));
        if (box->type == fourcc("mdia")) TRY(read_mdia(box->payload, track));
    }
    if (!boxes.ok()) return short_box("trak");
    if (track.track.kind == Kind::kData) return {};
    size_t index = tracks_of(movie, track.track.kind);
    if (index == media::kMaxTracks) return fail(Code::kLimit, "MP4: too many tracks");
    track.track.index = static_cast<uint8_t>(index);
    if (track.track.entries.empty()) return fail(Code::kProtocol, "MP4: a track without a sample entry");
    movie.tracks.push_back(std::move(track));
    return {};
}

void read_mvex(Bytes payload, Movie& movie) {
    movie.fragmented = true;
    BoxReader boxes(payload);
    while (auto box = boxes.next()) {
        if (box->type != fourcc("trex")) continue;
        ByteReader r(box->payload);
        r.skip(4);
        uint32_t id = r.u32();
        SampleDefaults d{r.u32(), r.u32(), r.u32(), r.u32()};
        for (MovieTrack& track : movie.tracks) {
            if (r.ok() && track.track.id == id) track.defaults = d;
        }
    }
}

}  // namespace

Result<Movie> parse_moov(Bytes payload) {
    Movie movie;
    std::optional<Bytes> mvex;
    BoxReader boxes(payload);
    while (auto box = boxes.next()) {
        if (box->type == fourcc("mvhd")) TRY(read_times(box->payload, movie.timescale, movie.duration));
        if (box->type == fourcc("trak")) TRY(read_trak(box->payload, movie));
        if (box->type == fourcc("mvex")) mvex = box->payload;
    }
    if (!boxes.ok()) return short_box("moov");
    if (mvex) read_mvex(*mvex, movie);
    return movie;
}

bool merge_tracks(Movie& movie, std::vector<MovieTrack>&& newer) {
    for (MovieTrack& track : newer) {
        auto known = std::ranges::find(movie.tracks, track.track.id, [](const MovieTrack& t) { return t.track.id; });
        if (known == movie.tracks.end()) {
            if (tracks_of(movie, track.track.kind) == media::kMaxTracks) return false;
            movie.tracks.push_back(std::move(track));
            continue;
        }
        const Track &old = known->track, &now = track.track;
        if (old.kind != now.kind || old.timescale != now.timescale) return false;
        if (old.entries.size() > now.entries.size()) return false;
        known->track = std::move(track.track);
        known->defaults = track.defaults;
    }
    return true;
}

}  // namespace mp4
