#include "service/hls/stream_list.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>

#include "base/log.h"
#include "runtime/threads/workers.h"

namespace service::hls {

namespace {
constexpr size_t kMaxStreamListBytes = 16 * 1024 * 1024;
}

// Used only on a worker thread, one job at a time.
struct StreamList::File {
    int fd = -1;

    ~File() {
        if (fd >= 0) ::close(fd);
    }

    base::Result<void> open(const std::string& path, int flags) {
        if (fd >= 0) return {};
        if (flags & O_CREAT) {
            std::error_code ignored;
            std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
        }
        const int opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0644);
        if (opened < 0) return base::fail_errno(path, errno);
        if (flock(opened, LOCK_EX | LOCK_NB) != 0) {
            const int error = errno;
            ::close(opened);
            if (error == EWOULDBLOCK) return base::fail(base::Code::kBusy, path + " is in use by another server");
            return base::fail_errno("locking " + path, error);
        }
        fd = opened;
        return {};
    }

    base::Result<std::string> read() const {
        std::string text;
        char buffer[65536];
        ssize_t n = 0;
        while (text.size() < kMaxStreamListBytes && (n = ::read(fd, buffer, sizeof buffer)) > 0)
            text.append(buffer, static_cast<size_t>(n));
        if (n < 0) return base::fail_errno("reading", errno);
        return text;
    }

    // Written in place, because the lock belongs to the file: a crash while writing costs lines, which are skipped.
    base::Result<void> write(const std::string& text) const {
        for (size_t at = 0; at < text.size();) {
            const ssize_t n = pwrite(fd, text.data() + at, text.size() - at, static_cast<off_t>(at));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return base::fail_errno("writing", errno);
            at += static_cast<size_t>(n);
        }
        if (ftruncate(fd, static_cast<off_t>(text.size())) != 0) return base::fail_errno("cutting", errno);
        return {};
    }
};

base::Result<void> StreamList::run(std::move_only_function<base::Result<void>(File&)> job) {
    if (!file_) file_ = std::make_shared<File>();
    auto outcome = std::make_shared<base::Result<void>>();
    TRY(runtime::offload([outcome, file = file_, job = std::move(job)]() mutable { *outcome = job(*file); },
                         runtime::Deadline::never()));
    return std::move(*outcome);
}

base::Result<std::vector<live::StreamKey>> StreamList::open() {
    auto text = std::make_shared<std::string>();
    auto opened = run([text, path = path_](File& file) -> base::Result<void> {
        if (::access(path.c_str(), F_OK) != 0) return {};
        TRY(file.open(path, 0));
        *text = TRY(file.read());
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
    auto kept = run([text, path = path_](File& file) -> base::Result<void> {
        TRY(file.open(path, O_CREAT));
        return file.write(text);
    });
    if (!kept && kept.error().code() == base::Code::kCancelled) return;
    written_ = std::move(text);
    if (kept) return;
    failed_ = true;
    base::log::error("hls_roll: {}; HLS files left by this run are not disposed of by the next",
                     kept.error().describe());
}

}  // namespace service::hls
