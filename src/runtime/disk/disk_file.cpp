#include "runtime/disk/disk_file.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace runtime::disk {
namespace {

constexpr size_t kFirstBuffer = 32 * 1024;
constexpr size_t kMaxPatchBytes = 4 * 1024 * 1024;
constexpr int64_t kSlowMs = 1000;
constexpr int64_t kEarlyMs = 25;  // a flush may come so much before its time, not so much after it
// For a file without flushes: a buffer that fills up sooner is followed by a larger one.
constexpr int64_t kUnflushedMs = 4000;

size_t first_buffer(size_t wanted, size_t max) {
    return std::min(wanted ? std::bit_ceil(std::max(wanted, BufferPool::kMinBytes)) : kFirstBuffer, max);
}

}  // namespace

File::File(Engine& engine, std::string path, const AppendOptions& options)
    : engine_(engine),
      path_(std::move(path)),
      options_(options),
      context_id_(context_id()),
      buffer_bytes_(first_buffer(options.first_buffer, engine.settings().buffer_bytes)) {}

File::~File() {
    if (fd_ >= 0) ::close(fd_);
}

int64_t File::flush_ms() const {
    if (options_.flush_ms < 0) return engine_.settings().flush_ms;
    return options_.flush_ms ? std::clamp<int64_t>(options_.flush_ms, 100, 3000) : 1000;
}

// A file with flushes is opened at once, so that its owner learns of an error soon. A file without flushes that stays
// short is never opened here: at its end one job does everything.
void File::begin() {
    ++engine_.files_open;
    if (options_.hold_ms > 0) held_until_ms_ = base::monotonic_ms() + options_.hold_ms;
    if (options_.flush_ms != 0) open();
    set_after(flush_ms());
}

void File::open() {
    unopened_ = false;
    opening_ = true;
    busy_since_ms_ = base::monotonic_ms();
    auto fd = std::make_shared<int>(-1);
    auto operation = std::make_shared<PathOperation>();
    operation->paths = {path_};
    auto begin = [self = shared_from_this(), fd, operation = std::weak_ptr(operation)] {
        self->engine_.run_step(
            {Step::kOpen}, self->path_, [fd, path = self->path_] { return open_empty(path, *fd); },
            [self, fd, operation = operation.lock()](int error) {
                const ContextScope scope(self->context_id_);
                self->fd_ = *fd;
                self->on_opened(error);
                self->engine_.paths.leave(operation);
            });
    };
    operation->go = [self = shared_from_this(), begin = std::move(begin)]() mutable {
        if (self->held_until_ms_) {
            self->held_open_ = std::move(begin);
        } else {
            begin();
        }
    };
    engine_.paths.enter(operation);
}

void File::release() {
    if (!std::exchange(held_until_ms_, 0)) return;
    const ContextScope scope(context_id_);
    if (auto open = std::exchange(held_open_, nullptr)) open();
    maybe_close();
}

void File::on_opened(int error) {
    opening_ = false;
    if (error) fail(std::move(base::fail_errno("opening " + path_, error).error()));
    pump();
    maybe_close();
}

base::Result<void> File::append(std::span<const uint8_t> bytes) {
    CHECK(!end_);
    if (error_) return std::unexpected(copy_error());
    size_ += bytes.size();
    while (!bytes.empty()) {
        if (!current_.buffer) begin_piece();
        const size_t n = std::min(bytes.size(), current_.buffer.size() - current_.used);
        std::memcpy(current_.buffer.data() + current_.used, bytes.data(), n);
        current_.used += n;
        bytes = bytes.subspan(n);
        if (current_.used == current_.buffer.size()) queue_piece(false);
        if (error_) return std::unexpected(copy_error());
    }
    return {};
}

base::Result<void> File::overwrite(uint64_t offset, std::span<const uint8_t> bytes) {
    CHECK(!end_);
    if (error_) return std::unexpected(copy_error());
    CHECK(offset + bytes.size() <= size_);
    patch_bytes_ += bytes.size();
    if (patch_bytes_ > kMaxPatchBytes)
        return base::fail(base::Code::kLimit,
                          fmt::format("more than {} bytes of {} are to be replaced", kMaxPatchBytes, path_));
    patches_.push_back({offset, {bytes.begin(), bytes.end()}});
    return {};
}

void File::begin_piece() {
    current_.buffer = engine_.buffers.take(buffer_bytes_);
    piece_began_ms_ = base::monotonic_ms();
}

// Slow streams have small buffers: the bytes between two flushes, rounded up to a power of two.
void File::choose_size(bool is_flush, size_t used) {
    const size_t max_bytes = engine_.settings().buffer_bytes;
    if (is_flush) {
        if (used < buffer_bytes_ / 4) buffer_bytes_ = std::max(buffer_bytes_ / 2, BufferPool::kMinBytes);
    } else if (base::monotonic_ms() - piece_began_ms_ < (options_.flush_ms ? flush_ms() : kUnflushedMs)) {
        buffer_bytes_ *= 2;
    }
    buffer_bytes_ = std::min(buffer_bytes_, max_bytes);
}

// Queues the current buffer for writing.
void File::queue_piece(bool is_flush) {
    const auto& settings = engine_.settings();
    Piece piece = std::exchange(current_, {});
    const size_t bytes = piece.buffer.size();
    if (!end_) choose_size(is_flush, piece.used);
    current_.offset = piece.offset + piece.used;
    pieces_.push_back(std::move(piece));
    queued_ += bytes;
    engine_.queued_bytes += bytes;
    // After the end at most one buffer is left.
    if (!end_ && (queued_ > settings.file_limit_bytes || engine_.queued_bytes > settings.total_limit_bytes)) {
        const bool own = queued_ > settings.file_limit_bytes;
        auto error = base::fail(
            base::Code::kLimit,
            fmt::format("the disk is too slow for {}: {} kB of it wait for {} ms, {} kB of all files; at most {} kB {}",
                        path_, queued_ / 1024, busy_ || opening_ ? base::monotonic_ms() - busy_since_ms_ : 0,
                        engine_.queued_bytes / 1024,
                        (own ? settings.file_limit_bytes : settings.total_limit_bytes) / 1024,
                        own ? "may (file_limit)" : "of all may (total_limit)"));
        return fail(std::move(error.error()));
    }
    if (unopened_ && !end_) return open();
    pump();
}

void File::on_due() {
    const auto keep = shared_from_this();
    if (const int64_t again_ms = flush(); again_ms > 0) set_after(again_ms);
}

int64_t File::flush() {
    if (end_ && !end_operation_) return 0;  // it is closed
    const int64_t now = base::monotonic_ms();
    if (held_until_ms_ && now >= held_until_ms_) release();
    if (busy_ || opening_ || closing_) {
        const int64_t age = now - busy_since_ms_;
        if (age >= kSlowMs) engine_.warn_slow(path_, opening_ ? "opening" : closing_ ? "closing" : "writing", age);
    }
    // While other buffers wait before it, a flush would only split it into more pieces.
    if (end_ || error_ || options_.flush_ms == 0 || opening_ || !pieces_.empty() || current_.used == 0)
        return flush_ms();
    // If a full buffer was written meanwhile, this flush is postponed.
    const int64_t left = piece_began_ms_ + flush_ms() - now;
    if (left > kEarlyMs) return left;
    queue_piece(true);
    return flush_ms();
}

void File::pump() {
    if (busy_ || fd_ < 0 || pieces_.empty()) return;
    write_.fd = fd_;
    write_.count = 0;
    write_.offset = pieces_.front().offset + head_done_;
    size_t skip = head_done_;
    for (auto& piece : pieces_) {
        if (write_.count == Write::kMaxParts) break;
        write_.parts[write_.count++] = {piece.buffer.data() + skip, piece.used - skip};
        skip = 0;
    }
    busy_ = true;
    busy_since_ms_ = base::monotonic_ms();
    ++engine_.operations;
    engine_.write(shared_from_this(), write_);
}

void File::on_written(int result) {
    const ContextScope scope(context_id_);
    busy_ = false;
    --engine_.operations;
    ++engine_.writes;
    if (result == 0) result = -ENOSPC;
    if (result == -EAGAIN || result == -EINTR) result = 0;
    if (result < 0) {
        fail(std::move(base::fail_errno("writing " + path_, -result).error()));
        return maybe_close();
    }
    auto n = static_cast<size_t>(result);
    written_ += n;
    engine_.bytes_written += n;
    n += head_done_;
    while (!pieces_.empty() && n >= pieces_.front().used) {
        auto& piece = pieces_.front();
        n -= piece.used;
        queued_ -= piece.buffer.size();
        engine_.queued_bytes -= piece.buffer.size();
        engine_.buffers.give(std::move(piece.buffer));
        pieces_.pop_front();
    }
    head_done_ = n;
    if (error_) drop_pieces();
    pump();
    maybe_close();
}

// Drops the pieces that are not part of a write in progress.
void File::drop_pieces() {
    const auto give = [&](Piece& piece) {
        queued_ -= piece.buffer.size();
        engine_.queued_bytes -= piece.buffer.size();
        engine_.buffers.give(std::move(piece.buffer));
    };
    while (pieces_.size() > (busy_ ? write_.count : 0)) {
        give(pieces_.back());
        pieces_.pop_back();
    }
    if (current_.buffer) engine_.buffers.give(std::exchange(current_, {}).buffer);
}

void File::fail(base::Error error) {
    if (!error_) {
        engine_.count_error(error, error.code() == base::Code::kLimit);
        error_ = std::move(error);
    }
    drop_pieces();
}

base::Error File::copy_error() const { return {error_->code(), error_->text(), error_->system_errno()}; }

void File::end(End how, std::string rename_to, Done done) {
    if (end_) return;
    end_ = how;
    rename_to_ = std::move(rename_to);
    done_ = std::move(done);
    if (how == End::kDiscard || error_)
        drop_pieces();
    else if (current_.used > 0)
        queue_piece(false);
    if (current_.buffer) engine_.buffers.give(std::exchange(current_, {}).buffer);
    end_operation_ = std::make_shared<PathOperation>();
    end_operation_->paths = {path_};
    if (!rename_to_.empty()) end_operation_->paths.push_back(rename_to_);
    end_operation_->go = [self = shared_from_this()] {
        self->end_may_run_ = true;
        self->maybe_close();
    };
    engine_.paths.enter(end_operation_);
}

void File::maybe_close() {
    if (!end_may_run_ || held_until_ms_ || closing_ || busy_ || opening_ || (!pieces_.empty() && !unopened_)) return;
    closing_ = true;
    auto closing = std::make_shared<Closing>();
    closing->is_whole = unopened_ && !error_;
    for (auto& piece : pieces_) closing->whole.push_back({piece.buffer.data(), piece.used});
    closing->fd = std::exchange(fd_, -1);
    closing->sync = options_.sync && end_ == End::kFinish;
    closing->failed = error_.has_value();
    closing->size = error_ ? written_ : size_;
    closing->patches = std::move(patches_);
    closing->path = path_;
    closing->rename_to = rename_to_;
    closing->owner = options_.owner;
    closing->how = *end_;
    auto work = [closing] { return close_file(*closing); };
    auto done = [self = shared_from_this(), closing](int error) { self->on_closed(*closing, error); };
    busy_since_ms_ = base::monotonic_ms();
    if (closing->is_whole)
        engine_.run_step({Step::kOpen, Step::kWrite, Step::kClose}, path_, std::move(work), std::move(done));
    else
        engine_.run_step({Step::kClose}, path_, std::move(work), std::move(done));
}

void File::on_closed(Closing& closing, int error) {
    const ContextScope scope(context_id_);
    if (error) {
        fail(std::move(base::fail_errno(fmt::format("{} {}", closing.step, path_), error).error()));
    } else if (closing.is_whole && closing.how != End::kDiscard) {
        written_ = size_;
        engine_.bytes_written += size_;
        ++engine_.writes;
    }
    drop_pieces();
    --engine_.files_open;
    auto operation = std::exchange(end_operation_, nullptr);
    engine_.paths.leave(operation);
    operation->go = nullptr;
    if (auto done = std::exchange(done_, nullptr)) {
        if (error_)
            done(std::unexpected(copy_error()));
        else
            done({});
    }
}

// ---- The handle

AppendFile::AppendFile(std::shared_ptr<File> file) : file_(std::move(file)) {}
AppendFile::~AppendFile() { file_->end(End::kLeave, {}, nullptr); }

std::unique_ptr<AppendFile> AppendFile::create(std::string path, const AppendOptions& options) {
    auto file = std::make_shared<File>(engine(), std::move(path), options);
    file->begin();
    return std::make_unique<AppendFile>(std::move(file));
}

base::Result<void> AppendFile::append(std::span<const uint8_t> bytes) { return file_->append(bytes); }
base::Result<void> AppendFile::overwrite(uint64_t offset, std::span<const uint8_t> bytes) {
    return file_->overwrite(offset, bytes);
}
std::move_only_function<void()> AppendFile::releaser() const {
    return [file = file_] { file->release(); };
}
uint64_t AppendFile::size() const { return file_->size(); }
uint64_t AppendFile::written() const { return file_->written(); }
size_t AppendFile::buffer_bytes() const { return file_->buffer_bytes(); }
const base::Error* AppendFile::error() const { return file_->error(); }
const std::string& AppendFile::path() const { return file_->path(); }
void AppendFile::finish(std::string rename_to, Done done) {
    file_->end(End::kFinish, std::move(rename_to), std::move(done));
}
void AppendFile::discard(Done done) { file_->end(End::kDiscard, {}, std::move(done)); }

}  // namespace runtime::disk
