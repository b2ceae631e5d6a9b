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

}  // namespace

// The movie begins with the earliest presentation time of all tracks; a track that begins later gets an empty edit.
std::vector<Edit> Finisher::edits_of(size_t i, int64_t zero_ms) const {
    const TableBuilder& tables = tables_[i];
    uint32_t timescale = movie_.tracks[i].track.timescale;
    int64_t wait = ticks_to_ms(tables.first_pts(), timescale) - zero_ms;
    if (wait == 0 && tables.media_time() == 0) return {};
    std::vector<Edit> edits;
    if (wait > 0) edits.push_back({static_cast<uint64_t>(wait), -1});
    int64_t shown = ((tables.end_pts() - tables.first_pts()) * 1000 + timescale - 1) / timescale;
    edits.push_back({static_cast<uint64_t>(shown), tables.media_time()});
    return edits;
}

void Finisher::write_movie(BoxWriter& w, int64_t shift, bool long_offsets) {
    int64_t zero_ms = INT64_MAX;
    std::vector<Track> tracks;
    for (size_t i = 0; i < tables_.size(); ++i) {
        tracks.push_back(movie_.tracks[i].track);
        zero_ms = std::min(zero_ms, ticks_to_ms(tables_[i].first_pts(), tracks[i].timescale));
    }
    std::vector<SampleTables> tables;
    for (size_t i = 0; i < tables_.size(); ++i) {
        tables.push_back(tables_[i].tables(shift, long_offsets));
        tables[i].edits = edits_of(i, zero_ms);
    }
    write_plain_moov(w, tracks, tables);
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
