#include "service/hls/segments/segment_files.h"

#include <utility>

#include "base/clock.h"
#include "runtime/loop/coroutine.h"

namespace service::hls {

namespace disk = runtime::disk;

SegmentFiles::SegmentFiles(SegmentFilesHost& host, std::shared_ptr<SegmentList> list, SegmentFilesOptions options,
                           const net::Resources& resources)
    : host_(&host),
      list_(std::move(list)),
      options_(std::move(options)),
      resources_(resources),
      owner_(options_.stream ? options_.stream->text() : std::string()),
      first_file_(static_cast<uint64_t>(base::wall_ms())) {}

SegmentFiles::~SegmentFiles() { abandon(); }

void SegmentFiles::take_over(std::vector<std::string> unneeded) {
    for (Id id = list_->begin(); id < list_->end(); ++id) {
        const Entry& entry = *list_->find(id);
        if (entry.disk != Entry::Disk::kThere) continue;
        put(entry.path, options_.root, options_.max_age_s);
        if (!entry.map_path.empty()) put(entry.map_path, options_.root, options_.max_age_s);
        if (!entry.key_path.empty()) put(entry.key_path, options_.key_root, 0);
        if (entry.content.init) map_on_disk_ = entry.map_path;
    }
    rewrite_ |= !unneeded.empty();
    remove(std::move(unneeded));
}

// ---- A segment being written

void SegmentFiles::open() {
    abandon();
    // Players read the file soon, but not before it is complete. It is created immediately all the same, to notice if
    // its directory was removed, because the other segments were removed with it.
    file_ = disk::AppendFile::create(path_of(list_->paths().growing(first_file_ + files_++)),
                                     {.flush_ms = 3000, .first_buffer = buffer_bytes_, .owner = owner_});
}

base::Result<void> SegmentFiles::write(std::span<const uint8_t> bytes) { return file_->append(bytes); }

bool SegmentFiles::finish(Id id) {
    if (waiting_.size() >= kMaxWaiting) {
        std::string path = file_->path();
        abandon();
        set_lost(id);
        fail(path, base::Error(base::Code::kLimit, "the disk does not keep up: too many segments wait for it"));
        return false;
    }
    buffer_bytes_ = file_->buffer_bytes();
    waiting_.push_back({id, std::move(file_)});
    advance();
    return true;
}

void SegmentFiles::abandon() {
    if (file_) file_->discard();
    file_.reset();
}

void SegmentFiles::set_lost(Id id) {
    if (Entry* entry = list_->find(id)) entry->disk = Entry::Disk::kLost;
}

void SegmentFiles::rewrite() {
    rewrite_ = true;
    advance();
}

// ---- Processing one step at a time

void SegmentFiles::advance() {
    if (busy_ || disposed_) return;
    // Those that left while the disk was slow.
    while (!waiting_.empty() && !list_->find(waiting_.front().id)) {
        waiting_.front().file->discard();
        waiting_.pop_front();
    }
    if (!waiting_.empty()) {
        busy_ = true;
        return name_next();
    }
    if (!rewrite_) return remove_unneeded();
    busy_ = true;
    write_playlist([this](const base::Result<void>& result) {
        if (!result) fail(path_of(list_->paths().playlist()), result.error());
        step_done();
    });
}

void SegmentFiles::name_next() {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    naming_ = next.id;
    const Entry& entry = *list_->find(naming_);
    naming_path_ = path_of(entry.path);
    growing_path_ = next.file->path();
    part_error_.reset();
    parts_ = 1;
    write_shared(entry);
    next.file->finish(naming_path_, part_done());
}

void SegmentFiles::write_shared(const Entry& entry) {
    if (entry.key_path != std::exchange(key_on_disk_, entry.key_path) && !entry.key_path.empty()) {
        ++parts_;
        const auto& key = entry.content.key->bytes;
        disk::write_file(options_.key_root + "/" + entry.key_path, std::string(key.begin(), key.end()), part_done(),
                         owner_);
    }
    if (entry.map_path != std::exchange(map_on_disk_, entry.map_path) && !entry.map_path.empty()) {
        ++parts_;
        disk::write_file(path_of(entry.map_path), *entry.content.init, part_done(), owner_);
    }
}

disk::Done SegmentFiles::part_done() {
    return [self = shared_from_this()](base::Result<void> result) {
        if (!result && !self->part_error_) self->part_error_ = std::move(result.error());
        if (--self->parts_ == 0) self->named();
    };
}

// The segment and its key and initialisation segment have been written, or one of them failed.
void SegmentFiles::named() {
    if (part_error_ || disposed_) {
        give_up_named();
        suspicious_ = true;
        if (host_ && !disposed_) host_->files_changed();
        if (part_error_) fail(naming_path_, *part_error_);
        return step_done();
    }
    if (!suspicious_) return publish_named();
    // The directory may have been removed with its other files.
    suspicious_ = false;
    runtime::spawn("hls-verify", [self = shared_from_this()] {
        self->drop_missing();
        self->publish_named();
    });
}

void SegmentFiles::give_up_named() {
    disk::remove(growing_path_);
    disk::remove(naming_path_);
    key_on_disk_.clear();
    map_on_disk_.clear();
    set_lost(naming_);
}

void SegmentFiles::publish_named() {
    Entry* entry = list_->find(naming_);
    if (!entry || disposed_) {  // it has left meanwhile
        give_up_named();
        return step_done();
    }
    entry->disk = Entry::Disk::kThere;
    if (!entry->in_memory) put(entry->path, options_.root, options_.max_age_s);
    write_playlist([this](const base::Result<void>& result) {
        if (!result) {
            fail(path_of(list_->paths().playlist()), result.error());
        } else if (host_ && list_->find(naming_) && !disposed_) {
            host_->segment_on_disk(naming_, naming_path_);
        }
        step_done();
    });
}

void SegmentFiles::put(const std::string& path, const std::string& root, int64_t max_age_s) {
    net::Resource resource;
    resource.root = root;
    resource.made_ms = base::wall_ms();
    resource.max_age_s = max_age_s;
    resource.stream = options_.stream;
    resources_.put(options_.vhost, path, std::move(resource));
}

void SegmentFiles::write_playlist(std::function<void(base::Result<void>)> then) {
    rewrite_ = false;
    disk::write_file(
        path_of(list_->paths().playlist()), m3u8::write(list_->playlist(SegmentList::Where::kOnDisk)).text,
        [self = shared_from_this(), then = std::move(then)](base::Result<void> result) {
            self->playlist_good_ = result.has_value();
            if (result && self->host_ && !self->disposed_) self->host_->files_changed();
            then(std::move(result));
        },
        owner_);
}

void SegmentFiles::step_done() {
    busy_ = false;
    if (disposed_) return dispose();
    advance();
}

void SegmentFiles::fail(const std::string& path, const base::Error& error) {
    if (host_ && !disposed_) host_->files_failed(path, error);
}

// ---- End

void SegmentFiles::remove(std::vector<std::string> paths) {
    std::ranges::move(paths, std::back_inserter(unneeded_));
    advance();
}

// While the playlist on disk is outdated, the files that it names are kept.
void SegmentFiles::remove_unneeded() {
    if (playlist_good_) remove_files(std::exchange(unneeded_, {}));
}

void SegmentFiles::remove_files(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        if (!options_.cleanup) continue;
        disk::remove(path_of(path), nullptr, true);
        if (options_.key_root != options_.root) disk::remove(options_.key_root + "/" + path, nullptr, true);
    }
}

void SegmentFiles::dispose() {
    disposed_ = true;
    abandon();
    if (busy_) return;  // disposal follows after that
    for (Waiting& waiting : waiting_) waiting.file->discard();
    waiting_.clear();
    options_.cleanup = true;
    // The playlist first, as it names the other files.
    const std::string playlist = path_of(list_->paths().playlist());
    disk::remove(playlist);
    disk::remove(playlist + ".tmp");
    remove_files(std::exchange(unneeded_, {}));
    disk::remove(playlist, nullptr, true);
}

}  // namespace service::hls
