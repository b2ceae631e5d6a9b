#include "runtime/disk/locked_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/threads/workers.h"

namespace runtime {

namespace {

// Once: later calls keep the open file.
base::Result<void> open_once(BlockingFile& file, const std::string& path, int flags) {
    if (!file.is_open()) file = TRY(BlockingFile::open_locked(path, O_RDWR | flags));
    return {};
}

}  // namespace

base::Result<void> LockedText::run(std::move_only_function<base::Result<void>(BlockingFile&)> job) {
    auto outcome = std::make_shared<base::Result<void>>();
    TRY(offload([outcome, file = file_, job = std::move(job)]() mutable { *outcome = job(*file); }, Deadline::never()));
    return std::move(*outcome);
}

base::Result<std::string> LockedText::open(size_t max_bytes) {
    auto text = std::make_shared<std::string>();
    auto opened = run([text, path = path_, max_bytes](BlockingFile& file) -> base::Result<void> {
        if (::access(path.c_str(), F_OK) != 0) return {};
        TRY(open_once(file, path, 0));
        *text = TRY(file.read_all(max_bytes));
        return {};
    });
    if (!opened) {
        failed_ = opened.error().code() != base::Code::kCancelled;
        return std::unexpected(std::move(opened.error()));
    }
    written_ = *text;
    return *text;
}

void LockedText::close() {
    file_ = std::make_shared<BlockingFile>();
    written_.clear();
    failed_ = false;
}

base::Result<void> LockedText::keep(std::string text) {
    if (failed_ || text == written_) return {};
    auto kept = run([text, path = path_](BlockingFile& file) -> base::Result<void> {
        std::error_code ignored;
        std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
        TRY(open_once(file, path, O_CREAT));
        // In place, because the lock belongs to the file: a crash while writing costs lines, which are skipped.
        return file.replace(text);
    });
    if (!kept && kept.error().code() == base::Code::kCancelled) return {};
    written_ = std::move(text);
    failed_ = !kept;
    return kept;
}

}  // namespace runtime
