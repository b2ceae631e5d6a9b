// Recovery of SegmentFiles: reads the playlist of an earlier run and checks which files exist. On worker threads.

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
#include "service/hls/segments/segment_files.h"

namespace service::hls {

namespace {

constexpr size_t kMaxInitBytes = 1024 * 1024;
// Segments that had left the playlist may still exist: this many earlier sequence numbers are checked.
constexpr uint64_t kMaxLeftBehind = 64;
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

// Removes only those of earlier runs: this run may already have begun one.
void remove_growing(const std::string& playlist_path, const SegmentPaths& names, uint64_t first_own) {
    std::string folder = playlist_path.substr(0, playlist_path.rfind('/'));
    DIR* dir = opendir(folder.c_str());
    if (!dir) return;
    while (dirent* entry = readdir(dir))
        if (auto number = names.growing_number(entry->d_name); number && *number < first_own)
            unlink((folder + "/" + entry->d_name).c_str());
    closedir(dir);
}

// Yields until the job has run, after any earlier jobs of the workers; false: the coroutine is cancelled.
bool run_on_worker(const std::function<void()>& job) {
    while (true) {
        auto done = runtime::offload([job] { job(); }, runtime::Deadline::never());
        if (done) return true;
        if (!runtime::sleep_ms(100)) return false;
    }
}

}  // namespace

// Data shared by a worker and the SegmentFiles.
struct SegmentFiles::Found {
    const SegmentFilesOptions options;
    const SegmentPaths names;
    const uint64_t first_own;  // number of this run's first growing file

    LeftFiles left{};
    std::string error{};
    size_t missing = 0;  // segments named by the playlist that do not exist

    void look();
    void add(const m3u8::Segment& segment);
    void drop_lost();
    void remove_all();
    void remove_left_behind();
};

// A segment whose files are not all there is lost.
void SegmentFiles::Found::add(const m3u8::Segment& segment) {
    Entry entry;
    entry.disk = Entry::Disk::kLost;
    const auto path = names.segment_path(segment.uri);
    const auto key = segment.key.uri.empty() ? std::string() : names.key_path(segment.key.uri);
    const auto map = segment.map_uri.empty() ? std::string() : names.segment_path(segment.map_uri);
    if (path && key && map) {
        entry.path = *path;
        entry.key_path = *key;
        entry.key = segment.key;
        entry.map_path = *map;
        const bool is_there = is_file(options.root + "/" + *path) &&
                              (key->empty() || is_file(options.key_root + "/" + *key)) &&
                              (map->empty() || is_file(options.root + "/" + *map));
        if (is_there) entry.disk = Entry::Disk::kThere;
    }
    if (entry.disk == Entry::Disk::kLost && !segment.gap) ++missing;
    left.entries.push_back(std::move(entry));
    left.timeline.segments.push_back({.duration = media::from_us(segment.duration_us),
                                      .date_ms = segment.date_ms,
                                      .discontinuity = segment.discontinuity});
}

// The first ones: they are no use to anybody.
void SegmentFiles::Found::drop_lost() {
    while (!left.entries.empty() && left.entries.front().disk == Entry::Disk::kLost) {
        ++left.timeline.media_sequence;
        left.timeline.discontinuity_sequence += left.timeline.segments.front().discontinuity ? 1 : 0;
        left.entries.pop_front();
        left.timeline.segments.pop_front();
    }
}

void SegmentFiles::Found::look() {
    std::string path = options.root + "/" + names.playlist();
    remove_growing(path, names, first_own);
    if (names.is_main()) left.master = is_file(options.root + "/" + names.master());
    for (RenditionId id = kMainRendition + 1; names.is_main() && id < kRenditions; ++id)
        if (is_file(options.root + "/" + names.of_rendition(id).playlist())) left.renditions.push_back(id);
    auto text = read_small(path, m3u8::kMaxBytes);
    if (!text) return;
    auto playlist = m3u8::read(*text);
    if (!playlist) {
        error = playlist.error().text();
        return;
    }
    left.any = true;
    left.timeline.media_sequence = playlist->media_sequence;
    left.timeline.discontinuity_sequence = playlist->discontinuity_sequence;
    left.timeline.target_s = playlist->target_duration_s;
    left.timeline.independent = playlist->independent_segments;
    for (const m3u8::Segment& segment : playlist->segments) add(segment);
    if (!options.recover) return remove_all();
    drop_lost();
    if (options.cleanup) remove_left_behind();
    if (left.entries.empty() || left.entries.back().map_path.empty()) return;
    if (auto init = read_small(options.root + "/" + left.entries.back().map_path, kMaxInitBytes))
        left.entries.back().content.init = std::make_shared<const std::string>(*std::move(init));
}

void SegmentFiles::Found::remove_all() {
    unlink((options.root + "/" + names.playlist()).c_str());
    if (options.cleanup) {
        for (const Entry& entry : left.entries) {
            if (entry.path.empty()) continue;
            unlink((options.root + "/" + entry.path).c_str());
            if (!entry.key_path.empty()) unlink((options.key_root + "/" + entry.key_path).c_str());
            if (!entry.map_path.empty()) unlink((options.root + "/" + entry.map_path).c_str());
        }
        remove_left_behind();
    }
    left.any = false;
    left.entries.clear();
    left.timeline.segments.clear();
}

// Removes files that had left the playlist and were kept for a while, and what it did not name yet, if their names can
// be derived.
void SegmentFiles::Found::remove_left_behind() {
    if (names.segment({1, 0, 0}) != names.segment({1, 999'999'999'999, 5'432})) return;
    const auto unlink_segment = [&](uint64_t sequence) {
        unlink((options.root + "/" + names.segment({sequence, 0, 0})).c_str());
    };
    const uint64_t first = left.timeline.media_sequence, next = first + left.timeline.segments.size();
    for (uint64_t n = 1; n <= kMaxLeftBehind && n <= first; ++n) unlink_segment(first - n);
    for (uint64_t n = 0; n < kMaxNotListed; ++n) unlink_segment(next + n);
}

void SegmentFiles::recover() {
    auto self = shared_from_this();
    auto found = std::make_shared<Found>(Found{options_, list_->paths(), first_file_});
    bool looked = run_on_worker([found] { found->look(); });
    if (looked) take_over(*found);
    recovering_ = false;
    if (disposed_) return dispose();
    advance();
}

void SegmentFiles::take_over(Found& found) {
    std::string path = path_of(list_->paths().playlist());
    if (!found.error.empty()) base::log::warn("HLS: {} is not continued: {}", path, found.error);
    if (found.missing > 0) base::log::warn("HLS: {} names {} segments that are missing", path, found.missing);
    for (const Entry& entry : found.left.entries) {
        if (entry.disk != Entry::Disk::kThere) continue;
        put(entry.path, options_.root, options_.max_age_s);
        if (!entry.map_path.empty()) put(entry.map_path, options_.root, options_.max_age_s);
        if (!entry.key_path.empty()) put(entry.key_path, options_.key_root, 0);
    }
    if (!found.left.entries.empty() && found.left.entries.back().content.init)
        map_on_disk_ = found.left.entries.back().map_path;
    if (host_) host_->files_recovered(std::move(found.left));
}

void SegmentFiles::verify() {
    if (busy_ || recovering_ || disposed_ || !list_->is_listed(SegmentList::Where::kOnDisk)) return;
    busy_ = true;  // nothing is added meanwhile
    drop_missing();
    step_done();
}

// Yields.
void SegmentFiles::drop_missing() {
    struct Looked {
        Id id;
        std::string path;
        bool is_there = true;
    };
    auto self = shared_from_this();
    auto looked = std::make_shared<std::vector<Looked>>();
    for (Id id = list_->first_listed(SegmentList::Where::kOnDisk); id < list_->end(); ++id)
        if (const Entry& entry = *list_->find(id); entry.disk == Entry::Disk::kThere)
            looked->push_back({id, path_of(entry.path)});
    if (!run_on_worker([looked] {
            for (Looked& one : *looked) one.is_there = is_file(one.path);
        }))
        return;
    std::erase_if(*looked, &Looked::is_there);
    if (looked->empty() || disposed_) return;
    for (const Looked& one : *looked) set_lost(one.id);
    rewrite_ = true;
    key_on_disk_.clear();
    map_on_disk_.clear();
    if (host_) host_->files_changed();
    fail(looked->back().path,
         base::Error(base::Code::kNotFound, fmt::format("{} is gone; {} segments of the playlist are lost",
                                                        looked->back().path, looked->size())));
}

}  // namespace service::hls
