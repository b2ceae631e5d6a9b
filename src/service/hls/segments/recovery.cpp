#include "service/hls/segments/recovery.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/loop/coroutine.h"
#include "runtime/threads/workers.h"

namespace service::hls {

namespace {

constexpr size_t kMaxInitBytes = 1024 * 1024;
// Segments that had left the playlist may still exist: this many earlier sequence numbers are checked at least.
constexpr uint64_t kMaxLeftBehind = 64;
// Of a long playlist, with each call of verify(): so many of the newest segments, and so many of the others.
constexpr SegmentTimeline::Id kNewestVerified = 8, kVerifiedAtOnce = 32;
// A crash may come after a segment got its name, and before the playlist with it was written.
constexpr uint64_t kMaxNotListed = 2;

std::optional<std::string> read_small(const std::string& path, size_t limit) {
    int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return std::nullopt;
    std::string text;
    char buffer[16 * 1024];
    ssize_t n = 0;
    while (text.size() <= limit && (n = ::read(fd, buffer, sizeof buffer)) > 0)
        text.append(buffer, static_cast<size_t>(n));
    close(fd);
    if (n < 0 || text.size() > limit) return std::nullopt;
    return text;
}

bool is_file(const std::string& path) {
    struct stat info {};
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
}

// Yields until the job has run, after any earlier jobs of the workers; false: the coroutine is cancelled.
bool run_on_worker(const std::function<void()>& job) {
    while (true) {
        auto done = runtime::offload([job] { job(); }, runtime::Deadline::never());
        if (done) return true;
        if (!runtime::sleep_ms(100)) return false;
    }
}

// On a worker.
class Reading {
  public:
    Reading(SegmentFilesOptions options, std::vector<SegmentPaths> paths)
        : options_(std::move(options)), paths_(std::move(paths)) {}
    void read();

    LeftStream left;
    std::vector<std::string> warnings;

  private:
    // As a playlist has it, with the segments of the timeline.
    struct Listed {
        LeftTimeline timeline{};
        std::deque<Entry> entries{};
    };
    std::string path_of(const std::string& path) const { return options_.root + "/" + path; }
    void remove_growing() const;
    std::optional<Listed> read_playlist(RenditionId id);
    Entry entry_of(const m3u8::Segment& segment, const SegmentPaths& paths) const;
    static void drop_lost(Listed& listed);
    LeftRendition within_main(RenditionId id, Listed listed) const;
    void remove_all(const Listed& listed, const SegmentPaths& paths) const;
    void remove_left_behind(const LeftTimeline& timeline, const SegmentPaths& paths) const;

    const SegmentFilesOptions options_;
    const std::vector<SegmentPaths> paths_;  // by RenditionId
};

void Reading::read() {
    remove_growing();
    left.master = is_file(path_of(paths_[kMainRendition].master()));
    for (RenditionId id = kMainRendition; id < paths_.size(); ++id) {
        std::optional<Listed> listed = read_playlist(id);
        if (!listed) continue;
        if (id == kMainRendition) {
            left.any = options_.recover;
            left.timeline = std::move(listed->timeline);
            left.renditions.push_back({id, left.timeline.media_sequence, std::move(listed->entries)});
        } else {
            left.renditions.push_back(within_main(id, *std::move(listed)));
        }
    }
}

// Playlists of all renditions are in one directory.
void Reading::remove_growing() const {
    const std::string playlist = path_of(paths_[kMainRendition].playlist());
    const std::string folder = playlist.substr(0, playlist.rfind('/'));
    DIR* dir = opendir(folder.c_str());
    if (!dir) return;
    while (dirent* entry = readdir(dir))
        if (std::ranges::any_of(paths_, [&](const SegmentPaths& paths) { return paths.is_growing(entry->d_name); }))
            unlink((folder + "/" + entry->d_name).c_str());
    closedir(dir);
}

// Nothing: there is none that is continued.
std::optional<Reading::Listed> Reading::read_playlist(RenditionId id) {
    const SegmentPaths& paths = paths_[id];
    const std::string path = path_of(paths.playlist());
    const auto text = read_small(path, m3u8::kMaxBytes);
    if (!text) return std::nullopt;
    auto playlist = m3u8::read(*text);
    if (!playlist) {
        warnings.push_back(fmt::format("{} is not continued: {}", path, playlist.error().text()));
        return std::nullopt;
    }
    Listed listed;
    listed.timeline.media_sequence = playlist->media_sequence;
    listed.timeline.discontinuity_sequence = playlist->discontinuity_sequence;
    listed.timeline.target_s = playlist->target_duration_s;
    listed.timeline.independent = playlist->independent_segments;
    listed.timeline.part_target = media::from_us(playlist->part_target_us);
    size_t missing = 0;
    for (const m3u8::Segment& segment : playlist->segments) {
        listed.entries.push_back(entry_of(segment, paths));
        if (listed.entries.back().disk == Entry::Disk::kLost && !segment.gap) ++missing;
        listed.timeline.segments.push_back({.duration = media::from_us(segment.duration_us),
                                            .date_ms = segment.date_ms,
                                            .discontinuity = segment.discontinuity});
    }
    if (missing > 0) warnings.push_back(fmt::format("{} names {} segments that are missing", path, missing));
    if (!options_.recover) {
        remove_all(listed, paths);
        left.next_sequence = std::max(left.next_sequence,
                                      listed.timeline.media_sequence + listed.timeline.segments.size() + kMaxNotListed);
        return Listed();
    }
    drop_lost(listed);
    if (options_.cleanup) remove_left_behind(listed.timeline, paths);
    if (!listed.entries.empty() && !listed.entries.back().map_path.empty())
        if (auto init = read_small(path_of(listed.entries.back().map_path), kMaxInitBytes))
            listed.entries.back().content.init = std::make_shared<const std::string>(*std::move(init));
    return listed;
}

// A segment whose files are not all there is lost.
Entry Reading::entry_of(const m3u8::Segment& segment, const SegmentPaths& paths) const {
    Entry entry;
    entry.disk = Entry::Disk::kLost;
    const auto path = paths.segment_path(segment.uri);
    const auto key = segment.key.uri.empty() ? std::string() : paths.key_path(segment.key.uri);
    const auto map = segment.map_uri.empty() ? std::string() : paths.segment_path(segment.map_uri);
    if (!path || !key || !map) return entry;
    entry.path = *path;
    entry.key_path = *key;
    entry.key = segment.key;
    entry.map_path = *map;
    const bool is_there = is_file(path_of(*path)) && (key->empty() || is_file(options_.key_root + "/" + *key)) &&
                          (map->empty() || is_file(path_of(*map)));
    if (is_there) entry.disk = Entry::Disk::kThere;
    return entry;
}

// The first ones: they are no use to anybody.
void Reading::drop_lost(Listed& listed) {
    LeftTimeline& timeline = listed.timeline;
    while (!listed.entries.empty() && listed.entries.front().disk == Entry::Disk::kLost) {
        ++timeline.media_sequence;
        timeline.discontinuity_sequence += timeline.segments.front().discontinuity ? 1 : 0;
        listed.entries.pop_front();
        timeline.segments.pop_front();
    }
}

LeftRendition Reading::within_main(RenditionId id, Listed listed) const {
    const uint64_t begin = left.timeline.media_sequence, end = begin + left.timeline.segments.size();
    LeftRendition out{.id = id};
    uint64_t sequence = listed.timeline.media_sequence;
    std::vector<Entry> others;
    for (Entry& entry : listed.entries) {
        const bool is_within = left.any && sequence >= begin && sequence < end;
        if (is_within && out.entries.empty()) out.media_sequence = sequence;
        ++sequence;
        if (is_within)
            out.entries.push_back(std::move(entry));
        else
            others.push_back(std::move(entry));
    }
    for (const Entry& entry : others)
        for (const auto file : {&Entry::path, &Entry::key_path, &Entry::map_path}) {
            // Keys and initialisation segments are shared.
            const auto uses = [&](const Entry& other) { return other.*file == entry.*file; };
            if (!(entry.*file).empty() && std::ranges::none_of(out.entries, uses)) out.unneeded.push_back(entry.*file);
        }
    return out;
}

void Reading::remove_all(const Listed& listed, const SegmentPaths& paths) const {
    unlink(path_of(paths.playlist()).c_str());
    if (!options_.cleanup) return;
    for (const Entry& entry : listed.entries) {
        if (entry.path.empty()) continue;
        unlink(path_of(entry.path).c_str());
        if (!entry.key_path.empty()) unlink((options_.key_root + "/" + entry.key_path).c_str());
        if (!entry.map_path.empty()) unlink(path_of(entry.map_path).c_str());
    }
    remove_left_behind(listed.timeline, paths);
}

// Removes files that had left the playlist and were kept for a while, and what it did not name yet, if their names can
// be derived.
void Reading::remove_left_behind(const LeftTimeline& timeline, const SegmentPaths& paths) const {
    if (paths.segment({1, 0, 0}) != paths.segment({1, 999'999'999'999, 5'432})) return;
    const auto unlink_segment = [&](uint64_t sequence) { unlink(path_of(paths.segment({sequence, 0, 0})).c_str()); };
    const uint64_t first = timeline.media_sequence, next = first + timeline.segments.size();
    // They are kept for as long as the playlist is.
    const uint64_t left = std::min(first, kMaxLeftBehind + 2 * timeline.segments.size());
    for (uint64_t n = 1; n <= left; ++n) unlink_segment(first - n);
    for (uint64_t n = 0; n < kMaxNotListed; ++n) unlink_segment(next + n);
}

std::optional<LeftStream> read_on_worker(const SegmentFilesOptions& options, std::vector<SegmentPaths> paths) {
    const auto reading = std::make_shared<Reading>(options, std::move(paths));
    if (!run_on_worker([reading] { reading->read(); })) return std::nullopt;
    for (const std::string& warning : reading->warnings) base::log::warn("HLS: {}", warning);
    return std::move(reading->left);
}

}  // namespace

std::optional<LeftStream> read_left(const SegmentFilesOptions& options, const SegmentPaths& paths) {
    std::vector<SegmentPaths> all;
    for (RenditionId id = kMainRendition; id < kRenditions; ++id) all.push_back(paths.of_rendition(id));
    auto left = read_on_worker(options, std::move(all));
    if (left) left->next_sequence = 0;  // those of a playlist that is not continued begin again
    return left;
}

std::optional<uint64_t> remove_left(const SegmentFilesOptions& options, std::vector<SegmentPaths> paths) {
    SegmentFilesOptions removing = options;
    removing.recover = false;
    const auto left = read_on_worker(removing, std::move(paths));
    return left ? std::optional(left->next_sequence) : std::nullopt;
}

void SegmentFiles::verify() {
    if (busy_ || disposed_ || !list_->is_listed(SegmentList::Where::kOnDisk)) return;
    busy_ = true;  // nothing is added meanwhile
    drop_missing(Which::kSome);
    end_run();
}

// Yields.
void SegmentFiles::drop_missing(Which which) {
    struct Checked {
        Id id;
        std::string path;
        bool is_there = true;
    };
    auto self = shared_from_this();
    const Id first = list_->first_listed(SegmentList::Where::kOnDisk), end = list_->end();
    const bool all = which == Which::kAll;
    const Id newest = all ? end : std::max(first, end - std::min(end, kNewestVerified));
    const Id from = all ? first : std::clamp(verified_, first, newest);
    const Id to = all ? end : std::min(newest, from + kVerifiedAtOnce);
    verified_ = to < newest ? to : 0;
    auto checked = std::make_shared<std::vector<Checked>>();
    const auto check = [&](Id id) {
        if (const Entry& entry = *list_->find(id); entry.disk == Entry::Disk::kThere)
            checked->push_back({id, path_of(entry.path)});
    };
    for (Id id = from; id < to; ++id) check(id);
    for (Id id = newest; id < end; ++id) check(id);
    if (!run_on_worker([checked] {
            for (Checked& one : *checked) one.is_there = is_file(one.path);
        }))
        return;
    std::erase_if(*checked, &Checked::is_there);
    if (checked->empty() || disposed_) return;
    for (const Checked& one : *checked) set_lost(one.id);
    rewrite_ = true;
    key_on_disk_.clear();
    map_on_disk_.clear();
    if (host_) host_->files_changed();
    fail(checked->back().path,
         base::Error(base::Code::kNotFound, fmt::format("{} is gone; {} segments of the playlist are lost",
                                                        checked->back().path, checked->size())));
}

}  // namespace service::hls
