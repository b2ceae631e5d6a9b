#include "service/accounts/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/log.h"
#include "runtime/disk/blocking_file.h"
#include "runtime/loop/limited_log.h"
#include "runtime/threads/workers.h"

namespace service::accounts {

using base::fail_errno;
using base::Result;
using runtime::Deadline;

// Used by one job at a time, on worker threads; by the loop between them.
struct LineFile::Disk {
    std::string path;
    std::string text;
    size_t done = 0;  // of the text, over several attempts
    runtime::BlockingFile file;
    Result<void> outcome{};

    // Whether what is open is what the path names.
    bool is_current() const {
        struct stat named {
        }, opened{};
        return file.is_open() && ::stat(path.c_str(), &named) == 0 && ::fstat(file.fd(), &opened) == 0 &&
               named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
    }
    // It may be a link, and may be no file: /dev/stdout. Not for everybody: it has addresses.
    Result<void> open() {
        std::error_code ignored;
        const auto directory = std::filesystem::path(path).parent_path();
        if (!directory.empty()) std::filesystem::create_directories(directory, ignored);
        file = runtime::BlockingFile(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640));
        if (!file.is_open()) return fail_errno(path, errno);
        return {};
    }
    Result<void> write() {
        if (!is_current()) TRY(open());
        while (done < text.size()) {
            const ssize_t n = ::write(file.fd(), text.data() + done, text.size() - done);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return fail_errno("writing " + path, n < 0 ? errno : EIO);
            done += static_cast<size_t>(n);
        }
        return {};
    }
};

LineFile::LineFile(std::string name) : name_(std::move(name)) {}

LineFile::~LineFile() { CHECK(!writer_ || writer_.done()); }

void LineFile::set_path(std::string path) {
    is_on_ = !path.empty();
    if (is_on_) path_ = std::move(path);
}

void LineFile::add(std::string_view line) {
    if (!is_on() || stopping_) return;
    if (waiting_bytes() + line.size() + 1 > kMaxWaiting) {
        ++counters_.dropped;
        return;
    }
    pending_.append(line).push_back('\n');
    ++pending_lines_;
    if (!writer_) writer_ = runtime::spawn("records", [this] { run(); });
    if (pending_lines_ == 1 || pending_.size() > kFullBatch) changed_.set();
}

// Lines come in their hundreds: one call writes what comes within a moment.
void LineFile::await_batch() {
    const Deadline limit = Deadline::in_ms(kBatchMs);
    while (!stopping_ && pending_.size() <= kFullBatch && !limit.passed()) {
        changed_.reset();
        if (!changed_.wait(limit) && runtime::cancelled()) return;
    }
}

void LineFile::run() {
    while (!runtime::cancelled()) {
        if (batch_bytes_ == 0 && pending_.empty()) {
            if (stopping_) return;
            changed_.reset();
            if (!changed_.wait(Deadline::never())) return;
            await_batch();
            continue;
        }
        if (write_batch()) continue;
        if (stopping_ || !runtime::sleep_ms(kRetryMs)) return;
    }
}

// False: it is to be tried again.
bool LineFile::write_batch() {
    if (!disk_) disk_ = std::make_shared<Disk>();
    if (batch_bytes_ == 0) {
        disk_->text = std::exchange(pending_, {});
        disk_->done = 0;
        batch_bytes_ = disk_->text.size();
        batch_lines_ = std::exchange(pending_lines_, 0);
        disk_->path = path_;
    }
    auto ran = runtime::offload([disk = disk_] { disk->outcome = disk->write(); }, Deadline::never());
    if (!ran && runtime::cancelled()) {
        disk_.reset();  // the job may be running
        return false;
    }
    const Result<void>& outcome = ran ? disk_->outcome : ran;
    if (!outcome) {
        if (error_.update(outcome.error().text()))
            base::log::error("{}: {}; lines wait, up to {} kB of them", name_, outcome.error().text(),
                             kMaxWaiting / 1024);
        // The file that is configured now, from the next batch's beginning on.
        if (disk_->done == 0) disk_->path = path_;
        return false;
    }
    counters_.written += std::exchange(batch_lines_, 0);
    batch_bytes_ = 0;
    std::string().swap(disk_->text);
    const bool was_failing = error_.clear();
    if (was_failing) base::log::warn("{}: {} can be written again", name_, disk_->path);
    report_drops();
    return true;
}

void LineFile::report_drops() {
    if (counters_.dropped == dropped_before_) return;
    runtime::warn_some(drop_log_, "{}: {} lines were dropped, there was no room", name_,
                       counters_.dropped - dropped_before_);
    dropped_before_ = counters_.dropped;
}

void LineFile::stop() {
    constexpr int64_t kStopMs = 5000;
    stopping_ = true;
    changed_.set();
    if (writer_) (void)writer_.join(Deadline::in_ms(kStopMs));
    if (writer_ && !writer_.done()) writer_.cancel_and_join();
    if (const uint64_t left = pending_lines_ + batch_lines_; left > 0) {
        counters_.dropped += left;
        base::log::error("{}: {} lines were not written before the end: {}", name_, left, error_.text());
    }
    disk_.reset();
}

}  // namespace service::accounts
