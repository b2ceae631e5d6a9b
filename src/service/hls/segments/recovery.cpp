// Recovery of DiskSegmentStore: reads the playlist of an earlier run and checks which files exist. On worker threads.

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
#include "service/hls/segments/disk_segment_store.h"

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

// Data shared by a worker and the segment store.
struct DiskSegmentStore::Found {
    const SegmentStoreOptions options;
    const SegmentPaths names;
    const uint64_t first_own;  // number of this run's first growing file

    bool any = false;  // a playlist was read
    std::string error{};
    uint64_t media_sequence = 0;
    uint64_t next_sequence = 0;  // after the last segment of the playlist
    uint64_t discontinuity_sequence = 0;
    std::deque<Entry> entries{};
    size_t missing = 0;  // segments named by the playlist that do not exist
    std::optional<std::string> init{};
    std::vector<RenditionId> renditions{};  // of which there are playlists too
    bool master = false;                    // there is a multivariant one

    void look();
    bool read_entry(const m3u8::Segment& segment);
    void remove_all();
    void remove_left_behind();
};

bool DiskSegmentStore::Found::read_entry(const m3u8::Segment& segment) {
    auto path = names.segment_path(segment.uri);
    if (!path || !is_file(options.root + "/" + *path)) return false;
    Entry entry;
    entry.item = segment;
    entry.path = *path;
    entry.independent = false;  // the playlist has no such flag per segment
    if (!segment.key.uri.empty()) {
        auto key = names.key_path(segment.key.uri);
        if (!key || !is_file(options.key_root + "/" + *key)) return false;
        entry.key_path = *key;
    }
    if (!segment.map_uri.empty()) {
        auto map = names.segment_path(segment.map_uri);
        if (!map || !is_file(options.root + "/" + *map)) return false;
        entry.map_path = *map;
    }
    entries.push_back(std::move(entry));
    return true;
}

void DiskSegmentStore::Found::look() {
    std::string path = options.root + "/" + names.playlist();
    remove_growing(path, names, first_own);
    if (names.is_main()) master = is_file(options.root + "/" + names.master());
    for (RenditionId id = 0; names.is_main() && id < kRenditions; ++id)
        if (is_file(options.root + "/" + names.of_rendition(id).playlist())) renditions.push_back(id);
    auto text = read_small(path, m3u8::kMaxBytes);
    if (!text) return;
    auto playlist = m3u8::read(*text);
    if (!playlist) {
        error = playlist.error().text();
        return;
    }
    any = true;
    media_sequence = playlist->media_sequence;
    next_sequence = media_sequence + playlist->segments.size();
    discontinuity_sequence = playlist->discontinuity_sequence;
    // Segments before a missing one are useless too.
    for (const m3u8::Segment& segment : playlist->segments) {
        if (read_entry(segment)) {
            entries.back().independent = playlist->independent_segments;
            continue;
        }
        missing += entries.size() + 1;
        media_sequence += entries.size() + 1;
        for (const Entry& entry : entries) discontinuity_sequence += entry.item.discontinuity ? 1 : 0;
        discontinuity_sequence += segment.discontinuity ? 1 : 0;
        entries.clear();
    }
    if (!options.recover) return remove_all();
    if (options.cleanup) remove_left_behind();
    if (!entries.empty() && !entries.back().map_path.empty())
        init = read_small(options.root + "/" + entries.back().map_path, kMaxInitBytes);
}

void DiskSegmentStore::Found::remove_all() {
    unlink((options.root + "/" + names.playlist()).c_str());
    if (options.cleanup) {
        for (const Entry& entry : entries) {
            unlink((options.root + "/" + entry.path).c_str());
            if (!entry.key_path.empty()) unlink((options.key_root + "/" + entry.key_path).c_str());
            if (!entry.map_path.empty()) unlink((options.root + "/" + entry.map_path).c_str());
        }
        remove_left_behind();
    }
    any = false;
}

// Removes files that had left the playlist and were kept for a while, and what it did not name yet, if their names can
// be derived.
void DiskSegmentStore::Found::remove_left_behind() {
    if (names.segment({1, 0, 0}) != names.segment({1, 999'999'999'999, 5'432})) return;
    for (uint64_t n = 1; n <= kMaxLeftBehind && n <= media_sequence; ++n)
        unlink((options.root + "/" + names.segment({media_sequence - n, 0, 0})).c_str());
    for (uint64_t n = 0; n < kMaxNotListed; ++n)
        unlink((options.root + "/" + names.segment({next_sequence + n, 0, 0})).c_str());
}

void DiskSegmentStore::recover() {
    auto self = shared_from_this();
    auto found = std::make_shared<Found>(Found{options_, paths_, first_file_});
    bool looked = run_on_worker([found] { found->look(); });
    if (looked) take_over(*found);
    recovering_ = false;
    if (disposed_) return dispose();
    advance();
}

void DiskSegmentStore::take_over(Found& found) {
    std::string path = path_of(paths_.playlist());
    if (host_ && (found.master || !found.renditions.empty())) host_->found_renditions(found.renditions, found.master);
    if (!found.error.empty()) base::log::warn("HLS: {} is not continued: {}", path, found.error);
    if (!found.any) return;
    if (found.missing > 0)
        base::log::warn("HLS: {} named missing segments; its first {} are omitted", path, found.missing);
    for (const Entry& entry : found.entries) {
        Resource segment = resource();
        segment.root = options_.root;
        index_.put(options_.vhost, entry.path, segment);
        if (!entry.map_path.empty()) index_.put(options_.vhost, entry.map_path, segment);
        if (entry.key_path.empty()) continue;
        segment.root = options_.key_root;
        segment.max_age_s = 0;
        index_.put(options_.vhost, entry.key_path, segment);
    }
    if (found.init) {
        last_init_ = std::make_shared<const std::string>(*std::move(found.init));
        last_map_path_ = found.entries.back().map_path;
    }
    window_.recover(found.media_sequence, found.discontinuity_sequence, std::move(found.entries));
    window_.skip_to(options_.first_sequence);
    record_gap();
    base::log::trace("HLS: {} continues at segment {}, with {} earlier ones", path, window_.next_sequence(),
                     window_.entries().size());
    if (host_ && !window_.entries().empty()) host_->store_changed(*this);
}

void DiskSegmentStore::verify() {
    if (busy_ || recovering_ || disposed_ || window_.entries().empty()) return;
    busy_ = true;  // nothing is added meanwhile
    drop_missing();
    step_done();
}

// Yields.
void DiskSegmentStore::drop_missing() {
    auto self = shared_from_this();
    auto paths = std::make_shared<std::vector<std::string>>();
    for (const Entry& entry : window_.entries()) paths->push_back(path_of(entry.path));
    auto gone = std::make_shared<size_t>(0);  // number of missing segments from the front
    bool looked = run_on_worker([paths, gone] {
        for (size_t i = paths->size(); i > 0 && *gone == 0; --i)
            if (!is_file((*paths)[i - 1])) *gone = i;
    });
    if (!looked || *gone == 0 || disposed_) return;
    std::string path = paths->at(*gone - 1);
    window_.drop(*gone);
    forget_shared();
    record_gap();
    rewrite_ = true;
    if (host_) host_->store_changed(*this);
    fail(path,
         base::Error(base::Code::kNotFound, fmt::format("{} is gone; {} segments leave the playlist", path, *gone)));
}

}  // namespace service::hls
