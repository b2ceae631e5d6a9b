#include "protocol/mp4/finisher.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/mp4/box_writer.h"

namespace mp4 {

using base::Code;
using base::fail;
using base::Result;
using media::fourcc;

namespace {

constexpr size_t kLook = 4096;  // a fragment's head, mostly
constexpr size_t kLookInZeros = 1 << 20;
constexpr uint64_t kBlockUnit = 512;  // blocks are multiples of it
constexpr size_t kRoomHead = 8;
constexpr uint64_t kShareBlock = 4096;
constexpr uint64_t kMostOfNothing = 4 << 20;  // bytes of zeros that are taken for a file whose writing had just begun

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// The short form where it can be: there are readers that know no other.
size_t mdat_head_size(bool long_offsets) { return long_offsets ? 16 : 8; }

void write_mdat_head(BoxWriter& w, uint64_t size, bool long_offsets) {
    w.u32(long_offsets ? 1 : static_cast<uint32_t>(size));
    w.type("mdat");
    if (long_offsets) w.u64(size);
}

}  // namespace

std::optional<Finisher::Want> Finisher::want() const {
    if (state_ == State::kDone) return std::nullopt;
    if (state_ == State::kWhole) return Want{at_, whole_};
    return Want{at_, in_zeros_ ? kLookInZeros : kLook};
}

Result<void> Finisher::feed(std::span<const uint8_t> bytes) {
    uint64_t begin = at_;
    bool at_end = begin + bytes.size() >= file_size_ || bytes.size() < want()->size;
    state_ = State::kTop;
    while (!media_ended_ && !plain_ && at_ - begin < bytes.size()) {
        auto rest = bytes.subspan(at_ - begin);
        if (!TRY(take_box(rest, at_end))) {
            if (at_end) end_media();
            break;
        }
    }
    if (plain_) {
        state_ = State::kDone;
        return {};
    }
    // Just at the end of the file, the last write was a whole one.
    if (at_ == file_size_ && pending_ && pending_end_ == at_) keep_pending();
    if (media_ended_ || at_ >= file_size_ || (at_end && bytes.empty())) return end_scan();
    return {};
}

Result<bool> Finisher::take_box(std::span<const uint8_t> bytes, bool at_end) {
    auto head = read_box_head(bytes);
    if (!head) {
        torn_head_ |= at_end && at_ == 0;
        return false;
    }
    bool zeros = head->size == 0 && head->type == 0;
    if (zeros && !has_movie_ && at_ % kBlockUnit == 0 && room_said_) {
        skip_zeros(bytes);
        return true;
    }
    in_zeros_ = false;
    if (!has_movie_) torn_head_ = torn_head_at(*head, zeros);
    bool inside = head->valid && head->size != 0 && head->size <= file_size_ - at_;
    if (pending_ && head->valid && head->size != 0 && at_ == pending_end_) keep_pending();
    bool movie = head->type == fourcc("moov"), fragment = head->type == fourcc("moof");
    // A finished file's moov may be larger than we care to read: its front says it all.
    bool large = movie && !has_movie_ && inside && head->size > kMaxMoov;
    if (!inside || ((movie || fragment) && !large && head->size > kMaxMoof)) {
        end_media();
        return true;
    }
    if ((movie || fragment) && !large && bytes.size() < head->size) {
        if (at_end) return false;
        state_ = State::kWhole;
        whole_ = head->size;
        return false;
    }
    auto payload = bytes.first(std::min<uint64_t>(head->size, bytes.size())).subspan(head->header_size);
    if (movie) {
        TRY(take_moov(payload));
    } else if (fragment) {
        if (!take_moof(payload)) end_media();
    } else if (head->type == fourcc("mdat")) {
        if (!take_mdat(*head)) end_media();
    } else if (head->type == fourcc("free")) {
        if (!has_movie_) room_at_ = at_, room_said_ = head->size;
        // The seal belongs to its fragment.
        if (at_ == media_end_ && head->size == kRoomHead) media_end_ += kRoomHead;
    }
    at_ += head->size;
    return true;
}

// Of a file that was killed in its first moment: it ends, or what was never written begins, before there is a moov.
bool Finisher::torn_head_at(const BoxHead& head, bool zeros) const {
    if (zeros) return at_ != 0 || file_size_ <= kMostOfNothing;
    return head.type == fourcc("ftyp") || head.type == fourcc("free") || head.type == fourcc("moov");
}

// Blocks were put in before the moov, and then nothing more was done.
void Finisher::skip_zeros(std::span<const uint8_t> bytes) {
    in_zeros_ = true;
    auto other = std::ranges::find_if(bytes, [](uint8_t b) { return b != 0; });
    auto zeros = static_cast<uint64_t>(other - bytes.begin());
    // A box's size begins with zeros.
    at_ += std::max(kBlockUnit, zeros / kBlockUnit * kBlockUnit);
}

Result<void> Finisher::take_moov(std::span<const uint8_t> payload) {
    auto read = parse_moov(payload);
    // Of a large one only the front is here.
    if (!read && !has_movie_ && payload.size() + kMaxBoxHead >= kLook) {
        BoxReader boxes(payload);
        auto first = boxes.next();
        if (first && first->type == fourcc("mvhd")) {
            std::vector<uint8_t> alone;
            BoxWriter w(alone);
            {
                auto box = w.box("mvhd");
                w.bytes(first->payload);
            }
            read = parse_moov(alone);
        }
    }
    if (!read && !has_movie_) return std::unexpected(std::move(read.error()));
    if (!read) {
        end_media();
        return {};
    }
    if (!has_movie_) first_moov_at_ = at_;
    if (!read->fragmented) {
        plain_ = !has_movie_;
        if (has_movie_) end_media();
        duration_ms_ = ticks_to_ms(static_cast<int64_t>(std::min<uint64_t>(read->duration, kMaxTime)), read->timescale);
        for (const MovieTrack& track : read->tracks) samples_ += track.tables.samples;
        media_end_ = file_size_;
        return {};
    }
    has_movie_ = true;
    for (MovieTrack& track : read->tracks) {
        track.tables = {};
        auto known =
            std::ranges::find_if(movie_.tracks, [&](const MovieTrack& t) { return t.track.id == track.track.id; });
        if (known == movie_.tracks.end()) {
            movie_.tracks.push_back(std::move(track));
        } else if (known->track.timescale == track.track.timescale) {
            *known = std::move(track);
        } else {
            end_media();
        }
    }
    lanes_.resize(movie_.tracks.size());
    return {};
}

bool Finisher::take_moof(std::span<const uint8_t> payload) {
    if (!has_movie_ || pending_) return false;
    if (!parse_moof(payload, at_, movie_, next_dts_, fragment_)) return false;
    if (samples_ + fragment_.samples.size() > kMaxSamples) return false;
    pending_ = true;
    pending_end_ = 0;
    return true;
}

// The fragment's data must be in the mdat behind it.
bool Finisher::take_mdat(const BoxHead& head) {
    if (!pending_) return true;
    if (pending_end_) return false;
    pending_end_ = at_ + head.size;
    for (const Run& run : fragment_.runs) {
        uint64_t begin = fragment_.samples[run.first].offset;
        if (begin < at_ + head.header_size || run.end > pending_end_ || run.end < begin) return false;
        const MovieTrack& track = movie_.tracks[run.track];
        if (run.description == 0 || run.description > track.track.entries.size()) return false;
    }
    return true;
}

void Finisher::keep_pending() {
    for (const Run& run : fragment_.runs) {
        TableBuilder& tables = lanes_[run.track].tables;
        tables.begin_chunk(fragment_.samples[run.first].offset, run.description);
        for (size_t i = run.first; i < run.first + run.count; ++i) {
            const Sample& s = fragment_.samples[i];
            tables.add(s.dts, s.duration, s.size, s.cts, s.sync);
        }
    }
    samples_ += fragment_.samples.size();
    media_end_ = pending_end_;
    pending_ = false;
}

Result<void> Finisher::end_scan() {
    state_ = State::kDone;
    if (!has_movie_ && !torn_head_) return fail(Code::kProtocol, "not an MP4 recording: no moov at its front");
    if (samples_ == 0) return fail(Code::kNotFound, "an MP4 recording without a whole fragment");
    std::vector<MovieTrack> tracks;
    std::vector<Lane> lanes;
    for (size_t i = 0; i < lanes_.size(); ++i) {
        if (lanes_[i].tables.samples() == 0) continue;
        lanes_[i].tables.end();
        tracks.push_back(std::move(movie_.tracks[i]));
        lanes.push_back(std::move(lanes_[i]));
    }
    movie_.tracks = std::move(tracks);
    lanes_ = std::move(lanes);
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (size_t i = 0; i < lanes_.size(); ++i) {
        from = std::min(from, ticks_to_ms(lanes_[i].tables.first_pts(), movie_.tracks[i].track.timescale));
        to = std::max(to, ticks_to_ms(lanes_[i].tables.end_pts(), movie_.tracks[i].track.timescale));
    }
    duration_ms_ = to - from;
    return {};
}

// The movie begins with what is shown first; a track that begins later waits so long.
std::vector<Edit> Finisher::edits_of(size_t i, int64_t zero_ms) const {
    const TableBuilder& tables = lanes_[i].tables;
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
    for (size_t i = 0; i < lanes_.size(); ++i) {
        tracks.push_back(movie_.tracks[i].track);
        zero_ms = std::min(zero_ms, ticks_to_ms(lanes_[i].tables.first_pts(), tracks[i].timescale));
    }
    std::vector<SampleTables> tables;
    for (size_t i = 0; i < lanes_.size(); ++i) {
        tables.push_back(lanes_[i].tables.tables(shift, long_offsets));
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

// The moov may grow the file by as much as its tables need.
bool Finisher::needs_long_offsets() const { return media_end_ + samples_ * 24 + (1 << 20) > UINT32_MAX; }

std::optional<Finisher::Plan> Finisher::plan(uint64_t block) {
    CHECK(state_ == State::kDone && !plain_);
    if (room_said_ < kRoomHead) return std::nullopt;
    uint64_t room = first_moov_at_ - room_at_;
    // Another box between the room and the moov: a file that we did not write.
    if (room_at_ + room_said_ != first_moov_at_ && !(first_moov_at_ % kBlockUnit == 0 && room_said_ < room))
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
    if (grown != room_said_) {
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
