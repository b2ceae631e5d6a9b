#include "service/hls/playlists/stream_list.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "base/log.h"
#include "runtime/threads/workers.h"

namespace service::hls {

namespace {

constexpr size_t kMaxStreamListBytes = 16 * 1024 * 1024;

// Once: later calls keep the open file.
base::Result<void> open_once(runtime::BlockingFile& file, const std::string& path, int flags) {
    if (!file.is_open()) file = TRY(runtime::BlockingFile::open_locked(path, O_RDWR | flags));
    return {};
}

}  // namespace

base::Result<void> StreamList::run(std::move_only_function<base::Result<void>(runtime::BlockingFile&)> job) {
    if (!file_) file_ = std::make_shared<runtime::BlockingFile>();
    auto outcome = std::make_shared<base::Result<void>>();
    TRY(runtime::offload([outcome, file = file_, job = std::move(job)]() mutable { *outcome = job(*file); },
                         runtime::Deadline::never()));
    return std::move(*outcome);
}

base::Result<std::vector<live::StreamKey>> StreamList::open() {
    auto text = std::make_shared<std::string>();
    auto opened = run([text, path = path_](runtime::BlockingFile& file) -> base::Result<void> {
        if (::access(path.c_str(), F_OK) != 0) return {};
        TRY(open_once(file, path, 0));
        *text = TRY(file.read_all(kMaxStreamListBytes));
        return {};
    });
    if (!opened) {
        failed_ = opened.error().code() != base::Code::kCancelled;
        return std::unexpected(std::move(opened.error()).with("hls_roll"));
    }
    written_ = *text;
    return read_stream_list(*text);
}

void StreamList::keep(const std::vector<live::StreamKey>& streams) {
    std::string text = write_stream_list(streams);
    if (failed_ || text == written_) return;
    auto kept = run([text, path = path_](runtime::BlockingFile& file) -> base::Result<void> {
        std::error_code ignored;
        std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
        TRY(open_once(file, path, O_CREAT));
        // In place, because the lock belongs to the file: a crash while writing costs lines, which are skipped.
        return file.replace(text);
    });
    if (!kept && kept.error().code() == base::Code::kCancelled) return;
    written_ = std::move(text);
    if (kept) return;
    failed_ = true;
    base::log::error("hls_roll: {}; HLS files left by this run are not disposed of by the next",
                     kept.error().describe());
}

}  // namespace service::hls
