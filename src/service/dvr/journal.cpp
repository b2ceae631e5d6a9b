#include "service/dvr/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/log.h"
#include "runtime/disk/blocking_file.h"
#include "runtime/threads/workers.h"

namespace service::dvr {

using base::Code;
using base::fail;
using base::fail_errno;
using base::Result;
using runtime::BlockingFile;

namespace {

constexpr size_t kRewriteAbove = 256 * 1024;
constexpr size_t kMaxRead = 64 * 1024 * 1024;
constexpr int kFlags = O_CREAT | O_RDWR | O_APPEND;

void notify(std::vector<Journal::Written>& waiting) {
    for (Journal::Written& written : std::exchange(waiting, {})) written();
}

}  // namespace

// Used only on worker threads, one job at a time.
struct Journal::Disk {
    explicit Disk(std::string p) : path(std::move(p)) {}

    Result<std::vector<OpenRecording>> open() {
        std::error_code ignored;
        std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
        file = TRY(BlockingFile::open_locked(path, kFlags));
        const std::string text = TRY(file.read_all(kMaxRead));
        if (text.size() == kMaxRead) return fail(Code::kLimit, "the journal is too large to be one");
        std::vector<OpenRecording> left = read_journal(text);
        TRY(rewrite(left));
        return left;
    }

    // The new file is locked before it is renamed.
    Result<void> rewrite(const std::vector<OpenRecording>& open_ones) {
        std::string text, next = path + ".new";
        for (const OpenRecording& recording : open_ones) text += journal_line_open(recording);
        BlockingFile written = TRY(BlockingFile::open_locked(next, kFlags | O_TRUNC));
        TRY(written.append(text));
        if (::rename(next.c_str(), path.c_str()) != 0) return fail_errno(path, errno);
        file = std::move(written);
        return {};
    }

    std::string path;
    BlockingFile file;
};

Journal::~Journal() { CHECK(!writer_ || writer_.done()); }

bool Journal::exists() const {
    auto found = std::make_shared<bool>(false);
    auto ran = runtime::offload([path = path_, found] { *found = ::access(path.c_str(), F_OK) == 0; },
                                runtime::Deadline::in_ms(10'000));
    return ran && *found;
}

Result<std::vector<OpenRecording>> Journal::open() {
    auto disk = std::make_shared<Disk>(path_);
    auto left = std::make_shared<Result<std::vector<OpenRecording>>>();
    auto ran = runtime::offload([disk, left] { *left = disk->open(); }, runtime::Deadline::in_ms(10'000));
    if (!ran || !*left) {
        failed_ = true;
        return std::unexpected(std::move(!ran ? ran.error() : left->error()).with("the journal of recordings"));
    }
    disk_ = std::move(disk);
    open_.insert(open_.begin(), (**left).begin(), (**left).end());
    return std::move(*left);
}

void Journal::opened(const OpenRecording& recording, Written written) {
    open_.push_back(recording);
    add(journal_line_open(recording), std::move(written));
}

void Journal::done(const std::string& growing) {
    std::erase_if(open_, [&](const OpenRecording& r) { return r.growing == growing; });
    add(journal_line_done(growing));
}

void Journal::add(std::string line, Written written) {
    if (failed_ || stopping_) {
        if (written) written();
        return;
    }
    pending_ += line;
    if (written) waiting_.push_back(std::move(written));
    if (!writer_) writer_ = runtime::spawn("dvr-journal", [this] { run(); });
    changed_.set();
}

Result<void> Journal::write(std::string lines) {
    if (!disk_) TRY(open());
    bool anew = written_ > kRewriteAbove;
    written_ = anew ? 0 : written_ + lines.size();
    auto result = std::make_shared<Result<void>>();
    auto job = [disk = disk_, result, lines = std::move(lines), open_ones = anew ? open_ : decltype(open_)(), anew] {
        *result = anew ? disk->rewrite(open_ones) : disk->file.append(lines);
    };
    TRY(runtime::offload(std::move(job), runtime::Deadline::never()));
    return std::move(*result);
}

void Journal::run() {
    while (!stopping_ || !pending_.empty()) {
        if (pending_.empty()) {
            changed_.reset();
            if (!changed_.wait(runtime::Deadline::never())) return;
            continue;
        }
        auto waiting = std::exchange(waiting_, {});
        auto written = write(std::exchange(pending_, {}));
        notify(waiting);
        if (written) continue;
        base::log::error(
            "the journal of recordings {}: {}; recordings left by a crash are not finished by the next start", path_,
            written.error().describe());
        failed_ = true;
        notify(waiting_);
        return;
    }
}

void Journal::stop() {
    stopping_ = true;
    changed_.set();
    if (writer_) (void)writer_.join(runtime::Deadline::in_ms(5000));
    if (writer_ && !writer_.done()) writer_.cancel_and_join();
    disk_.reset();
}

}  // namespace service::dvr
