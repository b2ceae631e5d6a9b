#include "service/hls/segments/segment_files.h"

#include <utility>

#include "base/clock.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"

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

// ---- One after the other

// Operations on the disk that are begun together.
class SegmentFiles::Operations {
  public:
    disk::Done add() {
        ++state_->left;
        return [state = state_](base::Result<void> result) {
            if (!result && state->result) state->result = std::move(result);
            if (--state->left == 0) state->over.set();
        };
    }
    // Yields until all have ended. The first error.
    base::Result<void> wait() {
        TRY(state_->over.wait(runtime::Deadline::never()));
        return std::move(state_->result);
    }

  private:
    struct State {
        size_t left = 0;
        base::Result<void> result{};
        runtime::Event over{"files of a segment"};
    };
    const std::shared_ptr<State> state_ = std::make_shared<State>();
};

void SegmentFiles::advance() {
    if (busy_ || disposed_) return;
    if (waiting_.empty() && !rewrite_) return remove_unneeded();
    // Without memory for it, the next call tries it again.
    busy_ = static_cast<bool>(runtime::spawn("hls-files", [self = shared_from_this()] { self->run(); }));
}

void SegmentFiles::run() {
    while (!disposed_ && (!waiting_.empty() || rewrite_)) {
        if (waiting_.empty()) {
            write_playlist();
            continue;
        }
        Waiting next = std::move(waiting_.front());
        waiting_.pop_front();
        // It may have left while the disk was slow.
        if (list_->find(next.id))
            write_segment(std::move(next));
        else
            next.file->discard();
    }
    end_run();
}

void SegmentFiles::end_run() {
    busy_ = false;
    if (has_left_) return;
    if (disposed_) return dispose();
    advance();
}

void SegmentFiles::write_segment(Waiting next) {
    const Entry& entry = *list_->find(next.id);
    const std::string path = path_of(entry.path), growing = next.file->path();
    Operations operations;
    write_shared(entry, operations);
    next.file->finish(path, operations.add());
    const auto written = operations.wait();
    // The file is the other process's, whatever has become of it.
    if (has_left_) return;
    if (!written) {
        give_up(next.id, growing, path);
        suspicious_ = true;
        if (host_ && !disposed_) host_->files_changed();
        return fail(path, written.error());
    }
    // The directory may have been removed with its other files.
    if (!disposed_ && std::exchange(suspicious_, false)) drop_missing(Which::kAll);
    Entry* there = disposed_ ? nullptr : list_->find(next.id);
    if (!there) return give_up(next.id, growing, path);  // it has left meanwhile
    there->disk = Entry::Disk::kThere;
    if (!there->in_memory) put(there->path, options_.root, options_.max_age_s);
    if (write_playlist() && host_ && !disposed_ && list_->find(next.id)) host_->segment_on_disk(next.id, path);
}

// Its key and initialisation segment, unless they are those of the segment before.
void SegmentFiles::write_shared(const Entry& entry, Operations& operations) {
    if (entry.key_path != std::exchange(key_on_disk_, entry.key_path) && !entry.key_path.empty()) {
        const auto& key = entry.content.key->bytes;
        disk::write_file(options_.key_root + "/" + entry.key_path, std::string(key.begin(), key.end()),
                         operations.add(), owner_);
    }
    if (entry.map_path != std::exchange(map_on_disk_, entry.map_path) && !entry.map_path.empty())
        disk::write_file(path_of(entry.map_path), *entry.content.init, operations.add(), owner_);
}

void SegmentFiles::give_up(Id id, const std::string& growing, const std::string& path) {
    disk::remove(growing);
    disk::remove(path);
    key_on_disk_.clear();
    map_on_disk_.clear();
    set_lost(id);
}

// Yields. False: it could not be written, which is reported.
bool SegmentFiles::write_playlist() {
    rewrite_ = false;
    const std::string path = path_of(list_->paths().playlist());
    Operations operations;
    disk::write_file(path, m3u8::write(list_->playlist(SegmentList::Where::kOnDisk)).text, operations.add(), owner_);
    const auto written = operations.wait();
    playlist_good_ = written.has_value();
    if (!written)
        fail(path, written.error());
    else if (host_ && !disposed_)
        host_->files_changed();
    return playlist_good_;
}

void SegmentFiles::put(const std::string& path, const std::string& root, int64_t max_age_s) {
    net::Resource resource;
    resource.root = root;
    resource.made_ms = base::wall_ms();
    resource.max_age_s = max_age_s;
    resource.stream = options_.stream;
    resources_.put(options_.vhost, path, std::move(resource));
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

void SegmentFiles::leave() {
    disposed_ = has_left_ = true;
    abandon();
    waiting_.clear();
    unneeded_.clear();
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
