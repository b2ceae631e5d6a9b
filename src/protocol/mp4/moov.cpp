#include "protocol/mp4/moov.h"

#include <algorithm>

#include "media/language.h"

namespace mp4 {

using media::Codec;
using media::Kind;

namespace {

void matrix(BoxWriter& w) {
    for (uint32_t value : {0x10000u, 0u, 0u, 0u, 0x10000u, 0u, 0u, 0u, 0x40000000u}) w.u32(value);
}

uint64_t movie_duration(const Track& track, const SampleTables& tables, uint32_t movie_timescale) {
    if (tables.edits.empty()) return rescale(tables.duration, track.timescale, movie_timescale);
    uint64_t sum = 0;
    for (const Edit& edit : tables.edits) sum += edit.duration;
    return sum;
}

void write_mvhd(BoxWriter& w, uint32_t timescale, uint64_t duration, uint32_t next_track) {
    auto box = w.full_box("mvhd", 1, 0);
    w.u64(0);  // creation and modification time: not set, there is no clock here
    w.u64(0);
    w.u32(timescale);
    w.u64(duration);
    w.u32(0x00010000);  // rate
    w.u16(0x0100);      // volume
    w.zeros(10);
    matrix(w);
    w.zeros(24);
    w.u32(next_track);
}

// The order of the trak boxes: positions in `tracks`.
std::vector<size_t> order_of(std::span<const Track> tracks) {
    std::vector<size_t> order(tracks.size());
    for (Kind kind : {Kind::kVideo, Kind::kAudio}) {
        std::vector<size_t> positions;
        for (size_t i = 0; i < tracks.size(); ++i)
            if (tracks[i].kind == kind) positions.push_back(i);
        std::vector<size_t> sorted = positions;
        std::ranges::stable_sort(sorted, {}, [&](size_t i) { return tracks[i].index; });
        for (size_t i = 0; i < positions.size(); ++i) order[positions[i]] = sorted[i];
    }
    return order;
}

// tkhd's flags and its alternate group, of which a player plays one track; 0: the track has no alternative.
struct Selection {
    uint32_t flags = 0;
    uint16_t alternate_group = 0;
};

// QuickTime plays all enabled tracks at once, audio mixed and video on top of each other, and FFmpeg and Safari play
// the enabled one by default. So the first of a kind is enabled, and players offer the others of its group instead of
// it.
Selection selection_of(std::span<const Track> tracks, const Track& track) {
    constexpr uint32_t kEnabled = 1, kInMovie = 2;
    auto other = [&](const Track& t) { return t.kind == track.kind && t.id != track.id; };
    if (std::ranges::none_of(tracks, other)) return {kEnabled | kInMovie, 0};
    bool first = std::ranges::none_of(tracks, [&](const Track& t) { return other(t) && t.index < track.index; });
    return {first ? kEnabled | kInMovie : kInMovie, static_cast<uint16_t>(track.kind == Kind::kAudio ? 1 : 2)};
}

void write_tkhd(BoxWriter& w, const Track& track, const Selection& selection, uint64_t duration) {
    auto box = w.full_box("tkhd", 1, selection.flags);
    w.u64(0);
    w.u64(0);
    w.u32(track.id);
    w.u32(0);
    w.u64(duration);
    w.zeros(8);
    w.u16(0);  // layer
    w.u16(selection.alternate_group);
    w.u16(track.kind == Kind::kAudio ? 0x0100 : 0);
    w.u16(0);
    matrix(w);
    w.u32(static_cast<uint32_t>(track.width) << 16);
    w.u32(static_cast<uint32_t>(track.height) << 16);
}

void write_edits(BoxWriter& w, std::span<const Edit> edits) {
    if (edits.empty()) return;
    auto edts = w.box("edts");
    auto elst = w.full_box("elst", 1, 0);
    w.u32(static_cast<uint32_t>(edits.size()));
    for (const Edit& edit : edits) {
        w.u64(edit.duration);
        w.u64(static_cast<uint64_t>(edit.media_time));
        w.u32(0x00010000);  // rate
    }
}

// The code of ISO 639-2; "und" where it is not known.
std::string language_code(std::string_view language) {
    std::string code = media::to_string(media::language_of(language));
    return code.empty() ? "und" : code;
}

void write_language(BoxWriter& w, std::string_view code) {
    uint32_t packed = 0;
    for (char c : code) packed = packed << 5 | static_cast<uint32_t>(c - 0x60);
    w.u16(static_cast<uint16_t>(packed));
}

void write_extended_language(BoxWriter& w, std::string_view language) {
    if (language.empty() || language == language_code(language)) return;
    auto box = w.full_box("elng", 0, 0);
    w.text(language);
    w.u8(0);
}

void write_handler(BoxWriter& w, const Track& track) {
    auto box = w.full_box("hdlr", 0, 0);
    bool video = track.kind == Kind::kVideo;
    w.u32(0);
    video ? w.type("vide") : w.type("soun");
    w.zeros(12);
    w.text(!track.label.empty() ? std::string_view(track.label) : unlabelled(track.kind));
    w.u8(0);
}

void write_data_reference(BoxWriter& w) {
    auto dinf = w.box("dinf");
    auto dref = w.full_box("dref", 0, 0);
    w.u32(1);
    auto url = w.full_box("url ", 0, 1);  // flag: the media is in this file
}

void write_table(BoxWriter& w, const char (&type)[5], uint8_t version, std::span<const uint8_t> entries,
                 size_t entry_size) {
    auto box = w.full_box(type, version, 0);
    w.u32(static_cast<uint32_t>(entries.size() / entry_size));
    w.refer(entries);
}

void write_stbl(BoxWriter& w, const Track& track, const SampleTables& tables) {
    auto stbl = w.box("stbl");
    {
        auto stsd = w.full_box("stsd", 0, 0);
        w.u32(static_cast<uint32_t>(track.entries.size()));
        for (const auto& entry : track.entries) w.bytes(entry);
    }
    write_table(w, "stts", 0, tables.stts, 8);
    if (!tables.ctts.empty()) write_table(w, "ctts", 1, tables.ctts, 8);
    if (!tables.all_sync) write_table(w, "stss", 0, tables.stss, 4);
    write_table(w, "stsc", 0, tables.stsc, 12);
    {
        auto stsz = w.full_box("stsz", 0, 0);
        w.u32(0);
        w.u32(static_cast<uint32_t>(tables.stsz.size() / 4));
        w.refer(tables.stsz);
    }
    tables.long_offsets ? write_table(w, "co64", 0, tables.chunk_offsets, 8)
                        : write_table(w, "stco", 0, tables.chunk_offsets, 4);
}

void write_mdia(BoxWriter& w, const Track& track, const SampleTables& tables) {
    auto mdia = w.box("mdia");
    {
        auto mdhd = w.full_box("mdhd", 1, 0);
        w.u64(0);
        w.u64(0);
        w.u32(track.timescale);
        w.u64(tables.duration);
        write_language(w, language_code(track.language));
        w.u16(0);
    }
    write_extended_language(w, track.language);
    write_handler(w, track);
    auto minf = w.box("minf");
    if (track.kind == Kind::kVideo) {
        auto vmhd = w.full_box("vmhd", 0, 1);
        w.zeros(8);
    } else {
        auto smhd = w.full_box("smhd", 0, 0);
        w.zeros(4);
    }
    write_data_reference(w);
    write_stbl(w, track, tables);
}

void write_trak(BoxWriter& w, const Track& track, const Selection& selection, const SampleTables& tables,
                uint32_t movie_timescale) {
    auto trak = w.box("trak");
    write_tkhd(w, track, selection, movie_duration(track, tables, movie_timescale));
    write_edits(w, tables.edits);
    write_mdia(w, track, tables);
}

void write_mvex(BoxWriter& w, std::span<const Track> tracks) {
    auto mvex = w.box("mvex");
    for (const Track& track : tracks) {
        auto trex = w.full_box("trex", 0, 0);
        w.u32(track.id);
        w.u32(1);  // sample description
        w.u32(track.frame_ticks);
        w.u32(0);  // size
        w.u32(track.kind == Kind::kVideo ? kNonSyncSample : kSyncSample);
    }
}

uint32_t next_track_id(std::span<const Track> tracks) {
    uint32_t next = 1;
    for (const Track& track : tracks) next = std::max(next, track.id + 1);
    return next;
}

}  // namespace

void write_ftyp(BoxWriter& w, std::span<const Track> tracks) {
    auto ftyp = w.box("ftyp");
    w.type("iso6");
    w.u32(0);
    w.type("iso6");
    w.type("isom");
    w.type("mp41");
    // CMAF allows one track per file.
    if (tracks.size() == 1) w.type("cmfc");
    if (std::ranges::any_of(tracks, [](const Track& t) { return t.codec == Codec::kAv1; })) w.type("av01");
}

void write_fragmented_moov(BoxWriter& w, std::span<const Track> tracks) {
    auto moov = w.box("moov");
    write_mvhd(w, kMovieTimescale, 0, next_track_id(tracks));
    for (size_t i : order_of(tracks)) write_trak(w, tracks[i], selection_of(tracks, tracks[i]), {}, kMovieTimescale);
    write_mvex(w, tracks);
}

void write_plain_moov(BoxWriter& w, std::span<const Track> tracks, std::span<const SampleTables> tables,
                      uint32_t movie_timescale) {
    CHECK(tracks.size() == tables.size());
    auto moov = w.box("moov");
    uint64_t duration = 0;
    for (size_t i = 0; i < tracks.size(); ++i)
        duration = std::max(duration, movie_duration(tracks[i], tables[i], movie_timescale));
    write_mvhd(w, movie_timescale, duration, next_track_id(tracks));
    for (size_t i : order_of(tracks))
        write_trak(w, tracks[i], selection_of(tracks, tracks[i]), tables[i], movie_timescale);
}

std::vector<uint8_t> init_segment(std::span<const Track> tracks) {
    std::vector<uint8_t> out;
    BoxWriter w(out);
    write_ftyp(w, tracks);
    write_fragmented_moov(w, tracks);
    return out;
}

std::vector<uint8_t> recording_head(std::span<const Track> tracks, size_t moov_at) {
    std::vector<uint8_t> out;
    BoxWriter w(out);
    write_ftyp(w, tracks);
    CHECK(moov_at >= out.size() + 8);
    {
        auto room = w.box("free");
        w.zeros(moov_at - out.size());
    }
    write_fragmented_moov(w, tracks);
    return out;
}

}  // namespace mp4
