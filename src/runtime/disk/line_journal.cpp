#include "runtime/disk/line_journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "runtime/disk/blocking_file.h"
#include "runtime/loop/clock.h"
#include "runtime/threads/workers.h"

namespace runtime {

using base::Code;
using base::fail;
using base::fail_errno;
using base::Result;

namespace {

constexpr uint64_t kCompactAbove = 256 * 1024;  // appended bytes
constexpr int64_t kLockMs = 1'000;              // how often it is tried
constexpr int64_t kOpenMs = 10'000;
constexpr int64_t kStopMs = 5'000;
constexpr int64_t kReplaceRetryMs = 10'000;
constexpr int kFlags = O_CREAT | O_RDWR | O_APPEND;

}  // namespace

// A new file is made in the nearest directory that exists, maybe with directories of its own.
Result<void> check_new_file(const std::string& path) {
    std::filesystem::path directory = std::filesystem::path(path).parent_path();
    std::error_code ignored;
    while (directory.has_relative_path() && !std::filesystem::exists(directory, ignored))
        directory = directory.parent_path();
    if (directory.empty()) directory = ".";
    if (::faccessat(AT_FDCWD, (directory / ".").c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
    return fail_errno(fmt::format("{} cannot be made in {}", path, directory.string()), errno);
}

// Used only on worker threads, one job at a time.
struct LineJournal::Disk {
    Disk(std::string p, mode_t m, size_t max) : path(std::move(p)), mode(m), max_bytes(max) {}

    Result<std::string> open() {
        std::error_code ignored;
        std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
        file = TRY(BlockingFile::open_locked(path, kFlags, mode));
        std::string text = TRY(read());
        // The next line must not continue one that a crash cut.
        text.resize(text.rfind('\n') + 1);
        if (text.size() < size && ::ftruncate(file.fd(), static_cast<off_t>(text.size())) != 0)
            return fail_errno(path, errno);
        size = text.size();
        return text;
    }

    // Of a file that is there the lock is held for the time of the call.
    Result<void> check() {
        auto opened = BlockingFile::open_locked(path, O_RDWR, mode);
        if (!opened && opened.error().code() == Code::kNotFound) return check_new_file(path);
        file = TRY(std::move(opened));
        TRY(measure());
        return {};
    }

    Result<void> measure() {
        struct stat facts {};
        if (::fstat(file.fd(), &facts) != 0) return fail_errno(path, errno);
        size = static_cast<uint64_t>(facts.st_size);
        if (size > max_bytes) return fail(Code::kLimit, path + " is too large to be a journal");
        return {};
    }

    Result<std::string> read() {
        TRY(measure());
        std::string text(size, '\0');
        text.resize(TRY(file.read_at(0, {reinterpret_cast<uint8_t*>(text.data()), text.size()})));
        return text;
    }

    // The new file is locked before it is renamed.
    Result<void> replace(Compaction& compaction) {
        const std::string text = compaction(TRY(read())), next = path + ".new";
        BlockingFile written = TRY(BlockingFile::open_locked(next, kFlags | O_TRUNC, mode));
        auto done = written.append(text);
        if (done && ::fdatasync(written.fd()) != 0) done = fail_errno(next, errno);
        if (done && ::rename(next.c_str(), path.c_str()) != 0) done = fail_errno(path, errno);
        if (!done) {
            ::unlink(next.c_str());
            return done;
        }
        file = std::move(written);
        size = text.size();
        return {};
    }

    Result<void> append(std::string_view lines) {
        if (size + lines.size() > max_bytes) return fail(Code::kLimit, path + " is as large as it may be");
        auto done = file.append(lines);
        if (done) {
            size += lines.size();
        } else if (::ftruncate(file.fd(), static_cast<off_t>(size)) != 0) {
            return fail_errno("removing an incomplete line of " + path, errno);
        }
        return done;
    }

    std::string path;
    mode_t mode;
    size_t max_bytes;
    BlockingFile file;
    uint64_t size = 0;
};

LineJournal::LineJournal(Options options) : options_(std::move(options)) {}

LineJournal::~LineJournal() { CHECK(!writer_ || writer_.done()); }

bool LineJournal::exists() const {
    auto found = std::make_shared<bool>(false);
    auto ran = offload([path = options_.path, found] { *found = ::access(path.c_str(), F_OK) == 0; },
                       Deadline::in_ms(kOpenMs));
    return ran && *found;
}

Result<void> LineJournal::open() {
    auto disk = std::make_shared<Disk>(options_.path, options_.mode, options_.max_bytes);
    auto text = std::make_shared<Result<std::string>>();
    auto ran = offload([disk, text] { *text = disk->open(); }, Deadline::in_ms(kOpenMs));
    if (!ran || !*text) {
        base::Error& error = !ran ? ran.error() : text->error();
        failed_ = !awaits_lock_ || error.code() != base::Code::kBusy;
        return std::unexpected(std::move(error));
    }
    failed_ = false;
    disk_ = std::move(disk);
    bytes_ = (*text)->size();
    options_.opened(**text);
    return {};
}

Result<void> LineJournal::check() const {
    auto checked = std::make_shared<Result<void>>();
    TRY(offload([disk = std::make_shared<Disk>(options_.path, options_.mode, options_.max_bytes),
                 checked] { *checked = disk->check(); },
                Deadline::in_ms(kOpenMs)));
    return std::move(*checked);
}

void LineJournal::await_lock() {
    awaits_lock_ = true;
    wake();
}

// An error: the file cannot be opened, or the coroutine is to end.
Result<void> LineJournal::take_lock() {
    while (!stopping_) {
        auto opened = open();
        if (opened) {
            awaits_lock_ = false;
            compact_due_ = true;
            return {};
        }
        if (failed_) return opened;
        (void)changed_.wait_next(Deadline::in_ms(kLockMs));
        if (cancelled()) break;
    }
    return base::fail(base::Code::kCancelled, "another process has the file");
}

void LineJournal::append(std::string_view lines, Written written) {
    if (awaits_lock_) {
        if (written) written(false);
        return;
    }
    if (failed_ || stopping_ || pending_.size() + lines.size() > options_.max_pending_bytes) {
        ++lost_;
        is_stale_ = true;
        if (written) written(false);
        return;
    }
    pending_ += lines;
    ++pending_appends_;
    if (written) waiting_.push_back(std::move(written));
    wake();
}

void LineJournal::compact() {
    compact_due_ = true;
    if (!failed_) wake();
}

void LineJournal::wake() {
    if (!writer_) writer_ = spawn("journal", [this] { run(); });
    changed_.set();
}

Result<void> LineJournal::write(std::string lines) {
    if (!disk_) TRY(open());
    struct Outcome {
        Result<void> replaced{}, appended{};
    };
    auto outcome = std::make_shared<Outcome>();
    const bool replaces = compact_due_ || bytes_ > compacted_bytes_ + std::max(kCompactAbove, compacted_bytes_);
    compact_due_ = false;
    auto job = [disk = disk_, outcome, lines = std::move(lines),
                compaction = replaces ? options_.compaction() : Compaction()]() mutable {
        // A file that could not be replaced is still good.
        if (compaction) outcome->replaced = disk->replace(compaction);
        outcome->appended = disk->append(lines);
    };
    auto ran = offload(std::move(job), Deadline::never());
    if (!ran) {
        is_stale_ = true;
        return ran;
    }
    bytes_ = disk_->size;
    if (replaces) {
        compacted_bytes_ = bytes_;
        is_stale_ = !outcome->replaced;
        if (is_stale_) stale_retry_ms_ = now_ms() + kReplaceRetryMs;
    }
    if (!outcome->appended)
        is_stale_ = true;
    else if (is_stale_ && !replaces)
        compact_due_ = stopping_ || now_ms() >= stale_retry_ms_;
    return std::move(outcome->appended);
}

void LineJournal::notify(std::vector<Written> waiting, bool is_written) {
    for (Written& written : waiting) written(is_written);
}

void LineJournal::run() {
    if (awaits_lock_) {
        if (auto taken = take_lock(); !taken) {
            if (failed_) options_.failed(taken.error());
            return;
        }
    }
    while (!stopping_ || has_work()) {
        if (!has_work()) {
            changed_.reset();
            if (!changed_.wait(Deadline::never())) return;
            continue;
        }
        auto waiting = std::exchange(waiting_, {});
        const size_t appends = std::exchange(pending_appends_, 0);
        auto written = write(std::exchange(pending_, {}));
        // The user hears of the error first: it must not take the disk for well again.
        if (!written) {
            lost_ += appends;
            options_.failed(written.error());
        }
        notify(std::move(waiting), written.has_value());
        if (written || disk_) continue;
        failed_ = true;
        notify(std::exchange(waiting_, {}), false);
        return;
    }
}

void LineJournal::stop() {
    stopping_ = true;
    changed_.set();
    if (writer_) (void)writer_.join(Deadline::in_ms(kStopMs));
    if (writer_ && !writer_.done()) writer_.cancel_and_join();
    disk_.reset();
}

}  // namespace runtime
