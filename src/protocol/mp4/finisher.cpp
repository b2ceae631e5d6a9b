#include "protocol/mp4/finisher.h"

#include <fmt/format.h>

#include <algorithm>

namespace mp4 {

using base::Code;
using base::fail;
using base::Result;
using media::fourcc;

namespace {

constexpr size_t kHeadRead = 4096;  // usually enough for the head of a fragment
constexpr size_t kZerosRead = 1 << 20;
constexpr uint64_t kMaxOfNothing = 4 << 20;  // bytes; a file of zeros up to this size may be a recording just begun

}  // namespace

std::optional<Finisher::Want> Finisher::want() const {
    if (state_ == State::kDone) return std::nullopt;
    if (state_ == State::kWhole) return Want{at_, whole_};
    return Want{at_, in_zeros_ ? kZerosRead : kHeadRead};
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
    // A fragment whose mdat ends exactly at the end of the file is complete without a seal.
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
    if (zeros && !has_movie_ && at_ % kBlockUnit == 0 && room_box_size_) {
        skip_zeros(bytes);
        return true;
    }
    in_zeros_ = false;
    if (!has_movie_) torn_head_ = torn_head_at(*head, zeros);
    bool inside = head->valid && head->size != 0 && head->size <= file_size_ - at_;
    if (pending_ && head->valid && head->size != 0 && at_ == pending_end_) keep_pending();
    bool movie = head->type == fourcc("moov"), fragment = head->type == fourcc("moof");
    // The moov of a finished file may exceed the limit: its front is enough.
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
        if (!has_movie_) room_at_ = at_, room_box_size_ = head->size;
        // The seal belongs to its fragment.
        if (at_ == media_end_ && head->size == kRoomHead) media_end_ += kRoomHead;
    }
    at_ += head->size;
    return true;
}

// Whether the bytes may be the start of a recording whose process was killed early: the file ends, or its unwritten
// part begins, before there is a moov.
bool Finisher::torn_head_at(const BoxHead& head, bool zeros) const {
    if (zeros) return at_ != 0 || file_size_ <= kMaxOfNothing;
    return head.type == fourcc("ftyp") || head.type == fourcc("free") || head.type == fourcc("moov");
}

// Skips blocks that were inserted before the moov by a run that stopped then.
void Finisher::skip_zeros(std::span<const uint8_t> bytes) {
    in_zeros_ = true;
    auto other = std::ranges::find_if(bytes, [](uint8_t b) { return b != 0; });
    auto zeros = static_cast<uint64_t>(other - bytes.begin());
    // The size of the next box may begin with zero bytes: rounds down to whole blocks.
    at_ += std::max(kBlockUnit, zeros / kBlockUnit * kBlockUnit);
}

Result<void> Finisher::take_moov(std::span<const uint8_t> payload) {
    auto read = parse_moov(payload);
    // Only the front of a large moov was read.
    if (!read && !has_movie_ && payload.size() + kMaxBoxHead >= kHeadRead) {
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
    if (!read->fragmented && has_movie_) {
        end_media();
        return {};
    }
    if (!read->fragmented) {
        plain_ = true;
        auto duration = static_cast<int64_t>(std::min<uint64_t>(read->duration, kMaxTime));
        duration_ms_ = media::to_ms(media::from_ticks(duration, read->timescale));
        for (const MovieTrack& track : read->tracks) samples_ += track.tables.samples;
        media_end_ = file_size_;
        return {};
    }
    has_movie_ = true;
    for (MovieTrack& track : read->tracks) track.tables = {};
    if (!merge_tracks(movie_, std::move(read->tracks))) end_media();
    tables_.resize(movie_.tracks.size());
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

// The fragment's data must be in the mdat that follows it.
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
        TableBuilder& tables = tables_[run.track];
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
    if (!has_movie_ && !torn_head_) return fail(Code::kProtocol, "not an MP4 recording: no moov at its beginning");
    if (samples_ == 0) return fail(Code::kNotFound, "an MP4 recording without a whole fragment");
    std::vector<MovieTrack> tracks;
    std::vector<TableBuilder> tables;
    for (size_t i = 0; i < tables_.size(); ++i) {
        if (tables_[i].samples() == 0) continue;
        tables_[i].end();
        tracks.push_back(std::move(movie_.tracks[i]));
        tables.push_back(std::move(tables_[i]));
    }
    movie_.tracks = std::move(tracks);
    tables_ = std::move(tables);
    media::Time from = media::Time::max(), to = media::Time::min();
    for (size_t i = 0; i < tables_.size(); ++i) {
        from = std::min(from, media::from_ticks(tables_[i].first_pts(), movie_.tracks[i].track.timescale));
        to = std::max(to, media::from_ticks(tables_[i].end_pts(), movie_.tracks[i].track.timescale));
    }
    duration_ms_ = media::to_ms(to - from);
    return {};
}

}  // namespace mp4
