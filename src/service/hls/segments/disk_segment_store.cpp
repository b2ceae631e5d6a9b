#include "service/hls/segments/disk_segment_store.h"

#include "base/clock.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"

namespace service::hls {

namespace disk = runtime::disk;

DiskSegmentStore::DiskSegmentStore(SegmentStoreHost& host, SegmentPaths names, SegmentStoreOptions options,
                                   const Index& index)
    : SegmentStore(host, std::move(names), std::move(options), index),
      owner_(options_.stream ? options_.stream->text() : std::string()),
      first_file_(static_cast<uint64_t>(base::wall_ms())) {}

DiskSegmentStore::~DiskSegmentStore() { abandon(); }

// ---- A segment being written

void DiskSegmentStore::open() {
    abandon();
    // Players read the file soon, but not before it is complete. It is created immediately all the same, to notice if
    // its directory was removed, because the other segments were removed with it.
    file_ = disk::AppendFile::create(path_of(paths_.growing(first_file_ + files_++)),
                                     {.flush_ms = 3000, .first_buffer = buffer_bytes_, .owner = owner_});
}

base::Result<void> DiskSegmentStore::write(std::span<const uint8_t> bytes) { return file_->append(bytes); }

void DiskSegmentStore::finish(SegmentInfo info) {
    if (waiting_.size() >= kMaxWaiting) {
        std::string path = file_->path();
        lose();
        segment_lost(info);
        return fail(path, base::Error(base::Code::kLimit, "the disk does not keep up: too many segments wait for it"));
    }
    mark_loss(info, window_.next_sequence() > 0 || busy_ || !waiting_.empty());
    buffer_bytes_ = file_->buffer_bytes();
    waiting_.push_back({std::move(info), std::move(file_)});
    advance();
}

void DiskSegmentStore::abandon() {
    if (file_) file_->discard();
    file_.reset();
}

// ---- Processing one step at a time

// Of a store that follows another: segments that are lost there are dropped. True: the next one can be named.
bool DiskSegmentStore::take_outcome() {
    while (!waiting_.empty()) {
        Waiting& next = waiting_.front();
        const Outcome* outcome = outcome_of(next.info.number);
        if (!outcome) return false;
        if (outcome->position) {
            moved_ = follow(*outcome->position, next.info);
            return true;
        }
        next.file->discard();
        waiting_.pop_front();
    }
    return false;
}

void DiskSegmentStore::advance() {
    if (recovering_ || busy_ || disposed_) return;
    if (follows() ? take_outcome() : !waiting_.empty()) {
        busy_ = true;
        return name_next();
    }
    if (!rewrite_) return;
    busy_ = true;
    write_playlist([this](const base::Result<void>& result) {
        if (!result) fail(path_of(paths_.playlist()), result.error());
        step_done();
    });
}

void DiskSegmentStore::name_next() {
    Waiting& next = waiting_.front();
    naming_ = name(next.info, next.file->size());
    growing_path_ = next.file->path();
    part_error_.reset();
    parts_ = 1;
    write_shared(next.info);
    next.file->finish(path_of(naming_.entry.path), part_done());
    next.file.reset();
}

void DiskSegmentStore::write_shared(const SegmentInfo& info) {
    if (naming_.new_key) {
        ++parts_;
        std::string bytes(info.key->bytes.begin(), info.key->bytes.end());
        disk::write_file(options_.key_root + "/" + naming_.entry.key_path, std::move(bytes), part_done(), owner_);
    }
    if (naming_.new_map) {
        ++parts_;
        disk::write_file(path_of(naming_.entry.map_path), *info.init, part_done(), owner_);
    }
}

disk::Done DiskSegmentStore::part_done() {
    return [self = shared_from_this()](base::Result<void> result) {
        if (!result && !self->part_error_) self->part_error_ = std::move(result.error());
        if (--self->parts_ == 0) self->named();
    };
}

// The segment and its key and initialisation segment have been written, or one of them failed.
void DiskSegmentStore::named() {
    Waiting done = std::move(waiting_.front());
    waiting_.pop_front();
    const Entry& entry = naming_.entry;
    if (part_error_ || disposed_) {
        disk::remove(growing_path_);
        disk::remove(path_of(entry.path));
        forget_shared();
        record_gap();
        segment_lost(done.info);
        if (moved_) rewrite_ = true;
        suspicious_ = true;
        if (part_error_) fail(path_of(entry.path), *part_error_);
        return step_done();
    }
    if (!suspicious_) return add_named(done.info);
    // The directory may have been removed with its other files.
    suspicious_ = false;
    runtime::spawn("hls-verify", [self = shared_from_this(), info = std::move(done.info)] {
        self->drop_missing();
        self->add_named(info);
    });
}

void DiskSegmentStore::add_named(const SegmentInfo& info) {
    const Entry& entry = naming_.entry;
    Resource segment = resource();
    segment.root = options_.root;
    index_.put(options_.vhost, entry.path, std::move(segment));
    put_shared(naming_, info, false);
    uint64_t sequence = window_.next_sequence();
    window_.add(naming_.entry, runtime::now_ms());
    segment_added(info);
    write_playlist([this, sequence](const base::Result<void>& result) {
        if (!result) {
            fail(path_of(paths_.playlist()), result.error());
        } else if (host_) {
            host_->segment_done(*this, naming_.entry, sequence, path_of(naming_.entry.path));
        }
        step_done();
    });
}

void DiskSegmentStore::write_playlist(std::function<void(base::Result<void>)> then) {
    rewrite_ = false;
    disk::write_file(
        path_of(paths_.playlist()), m3u8::write(window_.playlist()).text,
        [self = shared_from_this(), then = std::move(then)](base::Result<void> result) {
            self->playlist_good_ = result.has_value();
            if (result && self->host_ && !self->disposed_) self->host_->store_changed(*self);
            then(std::move(result));
        },
        owner_);
}

void DiskSegmentStore::step_done() {
    busy_ = false;
    if (disposed_) return dispose();
    advance();
}

void DiskSegmentStore::fail(const std::string& path, const base::Error& error) {
    if (host_ && !disposed_) host_->store_failed(*this, path, error);
}

// ---- End

void DiskSegmentStore::end_list() {
    if (window_.entries().empty()) return;
    window_.set_ended(true);
    rewrite_ = true;
    advance();
}

void DiskSegmentStore::remove_files(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        index_.erase(options_.vhost, path);
        if (!options_.cleanup) continue;
        disk::remove(path_of(path), nullptr, true);
        if (options_.key_root != options_.root) disk::remove(options_.key_root + "/" + path, nullptr, true);
    }
}

// While the playlist on disk is outdated, the files that it names are kept.
void DiskSegmentStore::tick(int64_t now_ms) {
    if (!busy_ && !recovering_ && playlist_good_) remove_files(window_.take_expired(now_ms));
}

void DiskSegmentStore::dispose() {
    disposed_ = true;
    abandon();
    if (busy_ || recovering_) return;  // disposal follows after that
    for (Waiting& waiting : waiting_)
        if (waiting.file) waiting.file->discard();
    waiting_.clear();
    options_.cleanup = true;
    // The playlist first, as it names the other files.
    disk::remove(path_of(paths_.playlist()));
    disk::remove(path_of(paths_.playlist()) + ".tmp");
    remove_files(window_.take_expired(0, true));
    disk::remove(path_of(paths_.playlist()), nullptr, true);
}

}  // namespace service::hls
