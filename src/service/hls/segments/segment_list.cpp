#include "service/hls/segments/segment_list.h"

#include <algorithm>
#include <utility>

namespace service::hls {

Entry& SegmentList::open(std::shared_ptr<const std::string> init) {
    open_.emplace();
    open_->content.init = std::move(init);
    name_map(values_of(timeline_->end(), *timeline_->open_segment()), *open_);
    return *open_;
}

std::string SegmentList::abandon() {
    if (!open_) return {};
    const std::string map = std::exchange(open_, std::nullopt)->map_path;
    return uses(&Entry::map_path, map) ? std::string() : map;
}

Entry& SegmentList::add(Id id, Entry entry) {
    if (open_) {
        entry.content.init = std::move(open_->content.init);
        entry.map_path = std::move(open_->map_path);
        entry.parts = std::move(open_->parts);
        open_.reset();
    }
    if (entries_.empty()) {
        begin_ = id;
        first_ = std::max(first_, id);
    }
    while (end() < id) {
        entries_.emplace_back();
        name(end() - 1, entries_.back());
    }
    if (begun_at_ == 0 && entry.content.bytes > 0 && !entry.is_lost()) begun_at_ = id;
    entries_.push_back(std::move(entry));
    name(id, entries_.back());
    return entries_.back();
}

void SegmentList::recover(Id first, std::deque<Entry> entries) {
    CHECK(entries_.empty());
    if (entries.empty()) return;
    if (!entries.back().map_path.empty()) {
        last_init_ = entries.back().content.init;
        last_map_path_ = entries.back().map_path;
    }
    begin_ = begun_at_ = first;
    entries_ = std::move(entries);
}

PathValues SegmentList::values_of(Id id, const Segment& segment) const {
    return {timeline_->sequence(id), segment.wall_ms, media::to_ms(segment.duration)};
}

void SegmentList::name(Id id, Entry& entry) {
    const PathValues values = values_of(id, timeline_->at(id));
    std::string path = paths_.segment(values);
    entry.path = has_path(path) ? paths_.segment(values, true) : std::move(path);
    const SegmentContent& content = entry.content;
    if (content.key) {
        if (content.key != last_key_) last_key_path_ = paths_.key(values);
        last_key_ = content.key;
        entry.key_path = last_key_path_;
        entry.key = {paths_.key_uri(entry.key_path), content.iv};
    }
    if (entry.map_path.empty()) name_map(values, entry);
}

void SegmentList::name_map(const PathValues& values, Entry& entry) {
    const auto& init = entry.content.init;
    if (!init) return;
    if (!last_init_ || *last_init_ != *init) {
        const bool taken = !last_map_path_.empty() ||
                           std::ranges::any_of(entries_, [](const Entry& other) { return !other.map_path.empty(); });
        last_map_path_ = paths_.init(values, taken);
    }
    last_init_ = init;
    entry.map_path = last_map_path_;
}

SegmentList::Id SegmentList::first_listed(Where where) const {
    Id id = std::min(std::max({timeline_->listed(), first_, begin_}), end());
    while (id < end() && is_lost(*find(id), where) && !is_pause(id)) ++id;
    return id;
}

SegmentList::Id SegmentList::end_listed(Where where) const {
    const auto is_known = [&](const Entry& entry) {
        return entry.disk != Entry::Disk::kPending || (where == Where::kAnywhere && entry.in_memory);
    };
    Id id = first_listed(where);
    while (id < end() && is_known(*find(id))) ++id;
    return id;
}

m3u8::MediaPlaylist SegmentList::playlist(Where where) const {
    const Id first = first_listed(where), end = end_listed(where);
    m3u8::MediaPlaylist playlist;
    playlist.target_duration_s = timeline_->target_s();
    playlist.media_sequence = timeline_->sequence(first);
    playlist.discontinuity_sequence = timeline_->discontinuities(first);
    playlist.independent_segments = timeline_->independent();
    playlist.ended = ended_;
    const bool has_parts = where == Where::kAnywhere && timeline_->part_target() > media::Time();
    playlist.part_target_us = media::to_us(timeline_->part_target());
    for (Id id = first; id < end; ++id) {
        const Segment& segment = timeline_->at(id);
        const Entry& entry = *find(id);
        const bool gap = is_lost(entry, where);
        // Files of a gap may be missing.
        const bool has_map = !entry.map_path.empty() && !(gap && where == Where::kOnDisk);
        playlist.segments.push_back({.uri = paths_.segment_uri(entry.path),
                                     .duration_us = media::to_us(segment.duration),
                                     .discontinuity = segment.discontinuity,
                                     .key = entry.key,
                                     .map_uri = has_map ? paths_.segment_uri(entry.map_path) : "",
                                     .gap = gap,
                                     .date_ms = segment.date_ms});
        if (has_parts) playlist.segments.back().parts = parts_of(segment, &entry);
    }
    return playlist;
}

// entry: null: it is lost here.
std::vector<m3u8::Part> SegmentList::parts_of(const Segment& segment, const Entry* entry) const {
    std::vector<m3u8::Part> parts;
    for (size_t i = 0; i < segment.parts.size(); ++i) {
        const Part& part = segment.parts[i];
        const bool is_there = entry && i < entry->parts.size() && entry->parts[i] > 0;
        parts.push_back({.uri = paths_.segment_uri(paths_.part(segment.first_part + i)),
                         .duration_us = media::to_us(part.duration),
                         .independent = part.independent && is_there,
                         .gap = !is_there});
    }
    return parts;
}

m3u8::PlaylistTail SegmentList::tail() const {
    m3u8::PlaylistTail tail;
    if (!goes_on()) return tail;
    tail.hint_uri = paths_.segment_uri(paths_.part(timeline_->next_part()));
    const Segment* segment = timeline_->open_segment();
    if (!segment) return tail;
    const Entry* entry = open_segment();
    tail.open.discontinuity = segment->discontinuity;
    if (entry && !entry->map_path.empty()) tail.open.map_uri = paths_.segment_uri(entry->map_path);
    tail.open.date_ms = segment->date_ms;
    tail.open.parts = parts_of(*segment, entry);
    return tail;
}

uint64_t SegmentList::bytes_in_memory() const {
    uint64_t sum = 0;
    for (const Entry& entry : entries_) sum += entry.in_memory ? entry.memory_bytes : 0;
    return sum;
}

bool SegmentList::has_path(std::string_view path) const {
    return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.path == path; });
}

bool SegmentList::uses(std::string Entry::*file, const std::string& path) const {
    return (open_ && *open_.*file == path) ||
           std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.*file == path; });
}

std::vector<std::string> SegmentList::forget() {
    std::vector<std::string> paths;
    for (; !entries_.empty() && begin_ < timeline_->kept(); ++begin_) {
        Entry entry = std::move(entries_.front());
        entries_.pop_front();
        paths.push_back(std::move(entry.path));
        for (const auto file : {&Entry::key_path, &Entry::map_path}) {
            std::string& path = entry.*file;
            if (!path.empty() && !uses(file, path)) paths.push_back(std::move(path));
        }
    }
    return paths;
}

}  // namespace service::hls
