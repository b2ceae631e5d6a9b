#include "service/hls/rendition.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/clock.h"
#include "protocol/http/url.h"

namespace service::hls {

namespace {

// A playlist of over two minutes (Apple's authoring specification, 14.4), of which they skip a half at least. Of the
// configuration only, because a playlist says it from its beginning to its end.
bool gains_from_delta_updates(const VhostConfig& hls) {
    return (hls.has_parts() || hls.dvr_window > 0) &&
           hls.length() >= std::max(120.0, 2 * m3u8::kSkipTargets * hls.fragment * hls.td_ratio);
}

}  // namespace

Rendition::Rendition(RenditionHost& host, const VhostConfig& hls, SegmentPaths paths,
                     const SegmentFilesOptions& options, net::Resources& resources,
                     std::shared_ptr<SegmentTimeline> timeline, SegmentWriter& writer, bool has_view)
    : host_(host),
      resources_(resources),
      options_(options),
      // Players of low latency do not wait for the disk.
      keeps_in_memory_(hls.storage != "disk" || hls.has_parts()),
      until_on_disk_(hls.storage == "disk"),
      in_memory_length_(hls.storage == "both" && hls.dvr_window > 0
                            ? std::optional(media::from_ms(static_cast<int64_t>(hls.window * 1'000)))
                            : std::nullopt),
      has_parts_(hls.has_parts()),
      has_view_(has_view),
      fragments_per_key_(hls.fragments_per_key),
      can_skip_(gains_from_delta_updates(hls)),
      list_(std::make_shared<SegmentList>(std::move(paths), std::move(timeline))),
      writer_(writer),
      parts_(*this, resources, {options.vhost, list_->paths().before_part(), std::string(list_->paths().after_part())}),
      reloads_(resources.waker()) {
    SegmentFilesHost& files_host = *this;
    if (hls.storage != "memory") files_ = std::make_shared<SegmentFiles>(files_host, list_, options, resources);
    if (hls.keys) cipher_ = std::make_unique<m3u8::Cipher>();
}

Rendition::~Rendition() {
    writer_.remove_reader(*this);
    if (files_) files_->detach();
}

std::string Rendition::playlist_path() const {
    return files_ ? fmt::format("{}/{}", options_.root, paths().playlist()) : std::string();
}

// ---- A segment

base::Result<void> Rendition::open(Lanes lanes) {
    bytes_ = own_bytes_ = 0;
    ranges_.clear();
    part_ranges_.clear();
    in_memory_ = keeps_in_memory_;
    on_disk_ = files_ && !is_given_over_;
    if (on_disk_) files_->open();
    if (cipher_) TRY(cipher_->begin(fragments_per_key_));
    SegmentWriter::Reader& reader = *this;
    writer_.add_reader(reader, lanes, cipher_ == nullptr);
    if (writer_.has_new_init() || !init_) init_ = writer_.init(lanes);
    const Entry& entry = list_->open(init_);
    // The parts need it before the segment is complete.
    if (has_parts_) show_shared(entry);
    return {};
}

void Rendition::open_gap() {
    drop_open_bytes();
    list_->open(init_);
}

void Rendition::put(Pieces pieces, const net::PageRange& range, bool is_first) {
    if (!cipher_) return take(pieces, range, is_first);
    for (const auto bytes : pieces) put_encrypted(cipher_->encrypt(bytes));
}

void Rendition::put_encrypted(std::span<const uint8_t> bytes) {
    net::PageRange range;
    if (in_memory_) {
        auto kept = writer_.keep({&bytes, 1});
        if (kept) range = *kept;
        if (!kept) lose_memory(kept.error());
    }
    take({&bytes, 1}, range, true);
}

void Rendition::take(Pieces pieces, const net::PageRange& range, bool is_first) {
    if (in_memory_ && range.length > 0) net::append_range(part_ranges_, range);
    if (in_memory_ && is_first) own_bytes_ += range.length;
    for (const auto bytes : pieces) {
        bytes_ += bytes.size();
        if (!on_disk_) continue;
        if (auto written = files_->write(bytes); !written) {
            on_disk_ = false;
            files_->abandon();
            host_.segment_failed(paths().playlist(), written.error());
        }
    }
}

void Rendition::lose_memory(const base::Error& why) {
    if (!std::exchange(in_memory_, false)) return;
    ranges_.clear();
    part_ranges_.clear();
    parts_.close(nullptr);
    host_.segment_failed(paths().playlist(), why);
}

void Rendition::drop_open_bytes() {
    if (in_memory_) parts_.close(open_pages());
    writer_.remove_reader(*this);
    if (on_disk_) files_->abandon();
    ranges_.clear();
    part_ranges_.clear();
    bytes_ = own_bytes_ = 0;
    in_memory_ = on_disk_ = false;
}

void Rendition::lose() {
    drop_open_bytes();
    if (const std::string map = list_->abandon(); !map.empty()) resources_.erase(options_.vhost, map);
}

void Rendition::end_ranges() {
    for (const net::PageRange& range : part_ranges_) net::append_range(ranges_, range);
    part_ranges_.clear();
}

void Rendition::end_part() {
    Entry* entry = list_->open_segment();
    if (!entry) return;
    net::Resource part = resource(part_ranges_);
    end_ranges();
    entry->parts.push_back(part.size);
    if (part.size > 0) parts_.add(list_->timeline().next_part(), std::move(part));
}

net::Resource Rendition::grow() {
    end_ranges();
    auto pages = in_memory_ ? open_pages() : nullptr;
    if (!pages) return resource();
    net::Resource grown = resource(ranges_);
    grown.pages = std::move(pages);
    return grown;
}

std::shared_ptr<runtime::disk::PagedBytes> Rendition::open_pages() {
    auto pages = writer_.pages();
    if (pages) return *std::move(pages);
    lose_memory(pages.error());
    return nullptr;
}

void Rendition::close(Id id) {
    // A file without a frame is no segment that players accept.
    const bool has_frame = bytes_ > 0;
    if (cipher_ && has_frame) put_encrypted(cipher_->finish());
    if (!has_frame) drop_open_bytes();
    end_ranges();
    Entry entry{.content = {.bytes = bytes_}};
    if (cipher_) {
        entry.content.key = cipher_->key();
        entry.content.iv = cipher_->iv();
    }
    net::Resource segment = resource(std::move(ranges_));
    if (in_memory_) {
        segment.pages = open_pages();
        segment.is_final = true;
        parts_.close(segment.pages);
        entry.in_memory = segment.pages != nullptr;
        entry.memory_bytes = own_bytes_;
    }
    if (files_) entry.disk = on_disk_ ? Entry::Disk::kPending : Entry::Disk::kLost;
    if (list_->ended()) {
        list_->restart_at(id);
        list_->set_ended(false);
    }
    const Entry& added = list_->add(id, std::move(entry));
    if (!added.is_lost()) highest_bandwidth_ = std::max(highest_bandwidth_, bandwidth_of(id));
    show_shared(added);
    if (added.in_memory) resources_.put(options_.vhost, added.path, std::move(segment));
    in_memory_ = false;
    const bool is_pending = std::exchange(on_disk_, false) && files_->finish(id);
    if (files_ && !has_frame && !is_given_over_) files_->rewrite();
    if (keeps_in_memory_ || !is_pending) show();
    if (!files_ && list_->find(id)->is_there()) host_.segment_done(*this, id, {});
}

void Rendition::segment_on_disk(Id id, const std::string& path) {
    if (until_on_disk_) serve_from_file(id);
    if (in_memory_length_) serve_old_from_files();
    host_.segment_done(*this, id, path);
}

// ---- What HTTP serves

net::Resource Rendition::resource(std::vector<net::PageRange> ranges) const {
    net::Resource resource;
    for (const net::PageRange& range : ranges) resource.size += range.length;
    resource.ranges = std::move(ranges);
    resource.made_ms = base::wall_ms();
    resource.max_age_s = options_.max_age_s;
    resource.stream = options_.stream;
    return resource;
}

// Keys made by this run are always served from memory, even if the segments are on disk.
void Rendition::show_shared(const Entry& entry) {
    if (entry.content.key && !resources_.find(options_.vhost, entry.key_path)) {
        net::Resource key = resource();
        key.keep(entry.content.key->bytes);
        key.max_age_s = 0;
        resources_.put(options_.vhost, entry.key_path, std::move(key));
    }
    if (entry.content.init && !resources_.find(options_.vhost, entry.map_path)) {
        net::Resource map = resource();
        if (keeps_in_memory_) {
            const std::string& init = *entry.content.init;
            map.keep({reinterpret_cast<const uint8_t*>(init.data()), init.size()});
        } else {
            map.root = options_.root;
        }
        resources_.put(options_.vhost, entry.map_path, std::move(map));
    }
}

void Rendition::show() {
    if (!has_view_) return;
    if (!list_->is_listed(SegmentList::Where::kAnywhere)) return show_nothing();
    shown_ = true;
    first_shown_ = list_->first_listed(SegmentList::Where::kAnywhere);
    listed_.reset();
    show_part();
}

void Rendition::show_part() {
    if (!shown_) return;
    view_.reset();
    const SegmentTimeline& timeline = list_->timeline();
    if (!has_parts_ || timeline.part_target() == media::Time(0)) return;
    hint(list_->goes_on() ? std::optional(timeline.next_part()) : std::nullopt);
    if (!reloads_.empty() && has_view()) reloads_.changed(view());
}

std::shared_ptr<const View> Rendition::view() const {
    if (view_ || !has_view()) return view_;
    if (!listed_) listed_ = list_segments();
    m3u8::PlaylistTail tail;
    if (listed_->playlist().can_block) tail = list_->tail();
    if (!tail.hint_uri.empty())
        for (const Rendition* other : host_.others(*this)) tail.reports.push_back(report_of(*other));
    return view_ = std::make_shared<const View>(listed_, std::move(tail));
}

std::shared_ptr<const ListedSegments> Rendition::list_segments() const {
    m3u8::MediaPlaylist playlist = list_->playlist(SegmentList::Where::kAnywhere);
    playlist.can_block = playlist.part_target_us > 0;
    playlist.can_skip = can_skip_;
    const ListedSegments::Bandwidth bandwidth = bandwidth_of(playlist);
    return std::make_shared<const ListedSegments>(std::move(playlist), bandwidth);
}

// How far another playlist has come, once it has a segment.
m3u8::RenditionReport Rendition::report_of(const Rendition& other) const {
    const SegmentTimeline& timeline = other.list_->timeline();
    const Segment* open = timeline.open_segment();
    const bool has_parts = open && !open->parts.empty();
    const Id last = has_parts ? timeline.end() : timeline.end() - 1;
    const size_t parts = (has_parts ? *open : timeline.at(last)).parts.size();
    m3u8::RenditionReport report{
        http::relative_reference(paths().playlist(), other.paths().playlist()), timeline.sequence(last), {}};
    if (parts > 0) report.last_part = parts - 1;
    return report;
}

// Requests for the part that the playlist hints wait for it. Nothing: it hints none.
void Rendition::hint(std::optional<uint64_t> part) {
    parts_.announce(part, options_.stream, wait_ms(list_->timeline().target_s()));
}

void Rendition::show_nothing() {
    shown_ = false;
    listed_.reset();
    view_.reset();
    end_waiting();
}

// Of a segment that is listed, bit/s.
uint64_t Rendition::bandwidth_of(Id id) const {
    const int64_t duration_us = media::to_us(list_->timeline().at(id).duration);
    return list_->find(id)->content.bytes * 8'000'000 / static_cast<uint64_t>(std::max<int64_t>(1, duration_us));
}

// Players load the multivariant playlist once: what it says of the bandwidth does not follow each segment.
ListedSegments::Bandwidth Rendition::bandwidth_of(const m3u8::MediaPlaylist& playlist) const {
    ListedSegments::Bandwidth bandwidth;
    uint64_t bits = 0, all_us = 0;
    const Id first = list_->first_listed(SegmentList::Where::kAnywhere);
    for (size_t i = 0; i < playlist.segments.size(); ++i) {
        const m3u8::Segment& segment = playlist.segments[i];
        if (segment.gap) continue;
        bandwidth.highest = std::max(bandwidth.highest, bandwidth_of(first + i));
        bits += list_->find(first + i)->content.bytes * 8;
        all_us += static_cast<uint64_t>(std::max<int64_t>(1, segment.duration_us));
    }
    bandwidth.highest = std::max(bandwidth.highest, highest_bandwidth_);
    bandwidth.average = bits * 1'000'000 / std::max<uint64_t>(1, all_us);
    return bandwidth;
}

// ---- Timers

void Rendition::end_list() {
    if (list_->ended() || !idle() || !list_->is_listed(SegmentList::Where::kAnywhere)) return;
    list_->set_ended(true);
    list_changed();
}

// Without a new segment. The files tell when the playlist on disk has changed too.
void Rendition::list_changed() {
    if (files_) files_->rewrite();
    if (keeps_in_memory_) show();
}

void Rendition::forget() {
    // Those of a playlist that goes on leave with its next segment.
    const bool is_listed = list_->is_listed(SegmentList::Where::kAnywhere);
    if (shown_ && (list_->ended() || !is_listed))
        if (!is_listed || first_shown_ != list_->first_listed(SegmentList::Where::kAnywhere)) list_changed();
    parts_.drop_before(list_->timeline().parts_kept());
    std::vector<std::string> paths = list_->forget();
    if (paths.empty()) return;
    for (const std::string& path : paths) resources_.erase(options_.vhost, path);
    if (files_) files_->remove(std::move(paths));
}

void Rendition::begin_list() {
    forget();
    if (!list_->is_listed(SegmentList::Where::kAnywhere)) show_nothing();
}

void Rendition::end_waiting() {
    hint(std::nullopt);
    reloads_.end();
}

void Rendition::dispose() {
    lose();
    forget();
    if (files_) files_->dispose();
    show_nothing();
}

size_t Rendition::memory() const {
    size_t bytes = list_->bytes_in_memory();
    // Those of which only the parts are in memory.
    for (Id id = list_->begin(); until_on_disk_ && id < list_->end(); ++id)
        if (const Entry& entry = *list_->find(id); !entry.in_memory && id >= list_->timeline().kept())
            bytes += list_->timeline().at(id).parts.empty() ? 0 : entry.memory_bytes;
    return bytes;
}

std::optional<Rendition::Id> Rendition::oldest_in_memory(bool newest_too) const {
    for (Id id = list_->begin(); id + (newest_too ? 0 : 1) < list_->end(); ++id)
        if (const Entry& entry = *list_->find(id); entry.in_memory) return id;
    return std::nullopt;
}

void Rendition::drop_from_memory(Id id) {
    drop_parts(id);
    serve_from_file(id);
    show();
}

void Rendition::drop_parts(Id id) {
    Entry* entry = list_->find(id);
    if (!entry || id < list_->timeline().kept()) return;
    const Segment& segment = list_->timeline().at(id);
    parts_.drop(segment.first_part, segment.parts.size());
    std::ranges::fill(entry->parts, 0);
}

void Rendition::serve_from_file(Id id) {
    Entry* entry = list_->find(id);
    if (!entry || !entry->in_memory) return;
    entry->in_memory = false;
    if (entry->disk == Entry::Disk::kThere) {
        net::Resource file = resource();
        file.root = options_.root;
        resources_.put(options_.vhost, entry->path, std::move(file));
    } else {
        resources_.erase(options_.vhost, entry->path);
    }
}

// What is further from the end than the part of the playlist that is kept in memory.
void Rendition::serve_old_from_files() {
    const SegmentTimeline& timeline = list_->timeline();
    media::Time behind{};
    for (Id id = list_->end(); id > std::max(list_->begin(), timeline.kept());) {
        const Entry& entry = *list_->find(--id);
        if (behind > *in_memory_length_ && entry.disk == Entry::Disk::kThere) serve_from_file(id);
        behind += timeline.at(id).duration;
    }
}

}  // namespace service::hls
