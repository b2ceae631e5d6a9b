#include "server/process/pid_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "server/process/directories.h"

namespace server {
namespace {

std::string pid_in(int fd) {
    char text[32] = {};
    ssize_t n = ::pread(fd, text, sizeof text - 1, 0);
    long pid = n > 0 ? std::strtol(text, nullptr, 10) : 0;
    return pid > 0 ? fmt::format("process {}", pid) : "another process";
}

// Whether the path still refers to the open file: its last owner may have deleted it before we got the lock.
bool is_current(int fd, const std::string& path) {
    struct stat open_file, named_file;
    return fstat(fd, &open_file) == 0 && stat(path.c_str(), &named_file) == 0 &&
           open_file.st_ino == named_file.st_ino && open_file.st_dev == named_file.st_dev;
}

}  // namespace

base::Result<PidFile> PidFile::lock(const std::string& path) {
    TRY(make_directory_of(path), fmt::format("the pid file {}", path));
    for (int attempt = 0; attempt < 10; ++attempt) {
        int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0) return base::fail_errno(fmt::format("the pid file {}", path), errno);
        PidFile file(path, fd);
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            if (errno != EWOULDBLOCK) return base::fail_errno(fmt::format("locking the pid file {}", path), errno);
            return base::fail(base::Code::kBusy,
                              fmt::format("the pid file {} is held by {}: this server runs already", path, pid_in(fd)));
        }
        if (is_current(fd, path)) return file;
    }
    return base::fail(base::Code::kBusy, fmt::format("the pid file {} keeps vanishing", path));
}

base::Result<PidFile> PidFile::adopt(const std::string& path, int fd) {
    if (fd < 0) return lock(path);
    if (is_current(fd, path)) return PidFile(path, fd);
    ::close(fd);
    return lock(path);
}

base::Result<void> PidFile::write() {
    owner_ = getpid();
    std::string text = fmt::format("{}\n", owner_);
    if (ftruncate(fd_, 0) != 0 || ::pwrite(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
        return base::fail_errno(fmt::format("writing the pid file {}", path_), errno);
    return {};
}

PidFile::~PidFile() {
    if (fd_ < 0) return;
    if (owner_ == getpid()) ::unlink(path_.c_str());
    ::close(fd_);
}

}  // namespace server
