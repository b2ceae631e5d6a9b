#include "runtime/disk/blocking_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace runtime {

using base::Code;
using base::fail;
using base::fail_errno;
using base::Result;

namespace {

constexpr size_t kPiece = 64 * 1024;

std::span<const uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// write: one system call for the bytes, of which `done` are written.
Result<void> write_whole(std::span<const uint8_t> bytes, auto&& write) {
    for (size_t done = 0; done < bytes.size();) {
        const ssize_t n = write(bytes.subspan(done), done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return fail_errno("writing", n < 0 ? errno : EIO);
        done += static_cast<size_t>(n);
    }
    return {};
}

}  // namespace

BlockingFile::~BlockingFile() {
    if (fd_ >= 0) ::close(fd_);
}

Result<BlockingFile> BlockingFile::open(const std::string& path, int flags, mode_t mode) {
    BlockingFile file(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, mode));
    if (file.is_open()) return file;
    if (errno == ENOENT || errno == ENOTDIR) return fail(Code::kNotFound, path + " does not exist");
    return fail_errno(path, errno);
}

Result<BlockingFile> BlockingFile::open_locked(const std::string& path, int flags, mode_t mode) {
    constexpr int kMaxAttempts = 10;
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
        BlockingFile file = TRY(open(path, flags, mode));
        if (flock(file.fd_, LOCK_EX | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK) return fail(Code::kBusy, path + " is in use by another server");
            return fail_errno("locking " + path, errno);
        }
        // Its last owner may have replaced it before the lock: that of a deleted file is worth nothing.
        if (file.is_at(path)) return file;
    }
    return fail(Code::kBusy, path + " is replaced by another server all the time");
}

bool BlockingFile::is_at(const std::string& path) const {
    struct stat open_file {
    }, named_file{};
    return ::fstat(fd_, &open_file) == 0 && ::lstat(path.c_str(), &named_file) == 0 &&
           open_file.st_ino == named_file.st_ino && open_file.st_dev == named_file.st_dev;
}

Result<size_t> BlockingFile::read_at(uint64_t offset, std::span<uint8_t> buffer) const {
    size_t done = 0;
    while (done < buffer.size()) {
        const ssize_t n = ::pread(fd_, buffer.data() + done, buffer.size() - done, static_cast<off_t>(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail_errno("reading", errno);
        if (n == 0) break;
        done += static_cast<size_t>(n);
    }
    return done;
}

Result<std::string> BlockingFile::read_all(size_t max_bytes) const {
    std::string text;
    std::vector<char> piece(kPiece);
    while (text.size() < max_bytes) {
        const ssize_t n = ::read(fd_, piece.data(), std::min(piece.size(), max_bytes - text.size()));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail_errno("reading", errno);
        if (n == 0) break;
        text.append(piece.data(), static_cast<size_t>(n));
    }
    return text;
}

Result<void> BlockingFile::write_at(uint64_t offset, std::span<const uint8_t> bytes) const {
    return write_whole(bytes, [&](std::span<const uint8_t> left, size_t done) {
        return ::pwrite(fd_, left.data(), left.size(), static_cast<off_t>(offset + done));
    });
}

Result<void> BlockingFile::append(std::string_view text) const {
    return write_whole(bytes_of(text),
                       [&](std::span<const uint8_t> left, size_t) { return ::write(fd_, left.data(), left.size()); });
}

Result<void> BlockingFile::replace(std::string_view text) const {
    TRY(write_at(0, bytes_of(text)));
    if (::ftruncate(fd_, static_cast<off_t>(text.size())) != 0) return fail_errno("cutting", errno);
    return {};
}

}  // namespace runtime
