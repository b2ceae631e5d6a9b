// The second half of finisher.h: plans what is written where.

#include <algorithm>

#include "protocol/mp4/box_writer.h"
#include "protocol/mp4/finisher.h"

namespace mp4 {

namespace {

constexpr uint64_t kShareBlock = 4096;

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// Uses the short form where possible: some readers do not support the long one.
size_t mdat_head_size(bool long_offsets) { return long_offsets ? 16 : 8; }

void write_mdat_head(BoxWriter& w, uint64_t size, bool long_offsets) {
    w.u32(long_offsets ? 1 : static_cast<uint32_t>(size));
    w.type("mdat");
    if (long_offsets) w.u64(size);
}

media::Time half_tick(const Track& track) { return media::Time(media::Time::period::den / track.timescale / 2 + 1); }

uint64_t rescale_up(uint64_t ticks, uint32_t from, uint32_t to) {
    uint64_t down = rescale(ticks, from, to);
    return down + (ticks % from * to % from ? 1 : 0);
}

}  // namespace

media::Time Finisher::first_time(size_t i) const {
    return media::from_ticks(tables_[i].first_pts(), movie_.tracks[i].track.timescale);
}

size_t Finisher::first_track() const {
    size_t first = 0;
    for (size_t i = 1; i < tables_.size(); ++i)
        if (first_time(i) < first_time(first)) first = i;
    return first;
}

// The time of a sample is known to half a tick of its track. As long as all offsets are whole ms within that, as they
// are in what came by RTMP, ms are exact and every player knows them; others, of MPEG-TS and WebRTC, would be rounded
// by up to half a ms, which is many audio samples.
uint32_t Finisher::movie_timescale() const {
    size_t first = first_track();
    for (size_t i = 0; i < tables_.size(); ++i) {
        media::Time wait = first_time(i) - first_time(first);
        media::Time tolerance = half_tick(movie_.tracks[i].track) + half_tick(movie_.tracks[first].track);
        if (media::distance(wait, media::from_ms(media::to_ms(wait))) > tolerance) return kFineMovieTimescale;
    }
    return kMovieTimescale;
}

// The movie begins with the earliest presentation time of all tracks; a track that begins later gets an empty edit.
// An offset is rounded once, to the nearest tick; the end up, so that the last sample is shown as a whole.
std::vector<Edit> Finisher::edits_of(size_t i, media::Time zero, uint32_t movie_timescale) const {
    const TableBuilder& tables = tables_[i];
    int64_t wait = media::to_ticks(first_time(i) - zero, movie_timescale);
    if (wait == 0 && tables.media_time() == 0) return {};
    std::vector<Edit> edits;
    if (wait > 0) edits.push_back({static_cast<uint64_t>(wait), -1});
    auto shown = static_cast<uint64_t>(tables.end_pts() - tables.first_pts());
    edits.push_back({rescale_up(shown, movie_.tracks[i].track.timescale, movie_timescale), tables.media_time()});
    return edits;
}

void Finisher::write_movie(BoxWriter& w, int64_t shift, bool long_offsets) {
    const media::Time zero = first_time(first_track());
    const uint32_t timescale = movie_timescale();
    std::vector<Track> tracks;
    std::vector<SampleTables> tables;
    for (size_t i = 0; i < tables_.size(); ++i) {
        tracks.push_back(movie_.tracks[i].track);
        tables.push_back(tables_[i].tables(shift, long_offsets));
        tables[i].edits = edits_of(i, zero, timescale);
    }
    write_plain_moov(w, tracks, tables, timescale);
}

std::vector<std::span<const uint8_t>> Finisher::pieces_of(const BoxWriter& w) const {
    std::vector<std::span<const uint8_t>> pieces;
    std::span<const uint8_t> head(head_);
    size_t at = 0;
    for (const auto& part : w.elsewhere()) {
        pieces.push_back(head.subspan(at, part.offset - at));
        pieces.push_back(part.bytes);
        at = part.offset;
    }
    pieces.push_back(head.subspan(at));
    return pieces;
}

// The moov may enlarge the file by the size of its tables.
bool Finisher::needs_long_offsets() const { return media_end_ + samples_ * 24 + (1 << 20) > UINT32_MAX; }

std::optional<Finisher::Plan> Finisher::plan(uint64_t block) {
    CHECK(state_ == State::kDone && !plain_);
    if (room_box_size_ < kRoomHead) return std::nullopt;
    uint64_t room = first_moov_at_ - room_at_;
    // Another box between the room and the moov: this server did not write the file.
    if (room_at_ + room_box_size_ != first_moov_at_ && !(first_moov_at_ % kBlockUnit == 0 && room_box_size_ < room))
        return std::nullopt;
    head_.clear();
    bool long_offsets = needs_long_offsets();
    BoxWriter measure(head_);
    write_movie(measure, 0, long_offsets);
    uint64_t needed = kRoomHead + measure.total() + mdat_head_size(long_offsets);
    Plan plan;
    plan.file_size = media_end_;
    if (needed > room) {
        if (block == 0 || first_moov_at_ % block != 0) return std::nullopt;
        plan.insert_at = first_moov_at_;
        plan.insert_size = round_up(needed - room, block);
    }
    uint64_t grown = room + plan.insert_size;
    if (grown > UINT32_MAX) return std::nullopt;
    if (grown != room_box_size_) {
        Patch grow{room_at_, {}};
        base::put_u32(grow.bytes.data(), static_cast<uint32_t>(grown));
        plan.grow = grow;
    }
    head_.clear();
    BoxWriter w(head_);
    write_movie(w, static_cast<int64_t>(plan.insert_size), long_offsets);
    plan.write_at = room_at_ + kRoomHead;
    uint64_t mdat_at = plan.write_at + w.total();
    write_mdat_head(w, media_end_ + plan.insert_size - mdat_at, long_offsets);
    plan.pieces = pieces_of(w);
    plan.expose.offset = room_at_;
    base::put_u32(plan.expose.bytes.data(), kRoomHead);
    return plan;
}

Finisher::CopyPlan Finisher::plan_copy() {
    CHECK(state_ == State::kDone && !plain_);
    std::vector<Track> tracks;
    for (const MovieTrack& track : movie_.tracks) tracks.push_back(track.track);
    CopyPlan plan;
    plan.copy_from = first_moov_at_;
    plan.copy_size = media_end_ - first_moov_at_;
    bool long_offsets = needs_long_offsets();
    size_t mdat_head = mdat_head_size(long_offsets);
    head_.clear();
    BoxWriter measure(head_);
    write_ftyp(measure, tracks);
    write_movie(measure, 0, long_offsets);
    uint64_t head = round_up(measure.total() + kRoomHead + mdat_head, kShareBlock);
    head_.clear();
    BoxWriter w(head_);
    write_ftyp(w, tracks);
    write_movie(w, static_cast<int64_t>(head) - static_cast<int64_t>(first_moov_at_), long_offsets);
    {
        auto padding = w.box("free");
        w.zeros(head - mdat_head - w.total());
    }
    write_mdat_head(w, mdat_head + plan.copy_size, long_offsets);
    plan.pieces = pieces_of(w);
    return plan;
}

}  // namespace mp4
