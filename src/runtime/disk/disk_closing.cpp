#include "runtime/disk/disk_closing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>

#include "runtime/disk/disk_engine.h"
#include "runtime/disk/file_owner.h"

namespace runtime::disk {
namespace {

// Runs calls (a negative result: see errno) until one fails.
class Steps {
  public:
    explicit Steps(const char*& name) : name_(name) {}
    void operator()(const char* name, const std::function<int64_t()>& call) {
        if (error_) return;
        name_ = name;
        if (call() < 0) error_ = errno;
    }
    int error() const { return error_; }

  private:
    const char*& name_;
    int error_ = 0;
};

int write_all(int fd, std::vector<iovec>& parts, uint64_t offset) {
    for (size_t i = 0; i < parts.size();) {
        const auto count = static_cast<int>(std::min<size_t>(parts.size() - i, Write::kMaxParts));
        const ssize_t n = pwritev(fd, &parts[i], count, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = ENOSPC;
        if (n <= 0) return -1;
        offset += static_cast<uint64_t>(n);
        for (auto left = static_cast<size_t>(n); i < parts.size();) {
            if (left < parts[i].iov_len) {
                parts[i].iov_base = static_cast<uint8_t*>(parts[i].iov_base) + left;
                parts[i].iov_len -= left;
                break;
            }
            left -= parts[i++].iov_len;
        }
    }
    return 0;
}

int open_whole(Closing& c) {
    errno = open_empty(c.path, c.fd);
    return errno ? -1 : 0;
}

void complete(Closing& c, Steps& step) {
    if (!c.is_whole) step("cutting", [&] { return ftruncate(c.fd, static_cast<off_t>(c.size)); });
    for (auto& patch : c.patches) {
        if (patch.offset + patch.bytes.size() > c.size) continue;  // beyond the end of a file that failed before
        std::vector<iovec> part = {{patch.bytes.data(), patch.bytes.size()}};
        step("writing", [&] { return write_all(c.fd, part, patch.offset); });
    }
    set_file_owner(c.fd, c.owner);
    if (c.sync) step("syncing", [&] { return fsync(c.fd); });
}

}  // namespace

int make_directories_for(const std::string& path) {
    for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
        const std::string directory = path.substr(0, slash);
        if (mkdir(directory.c_str(), 0755) == 0 || errno == EEXIST) continue;
        // An existing directory may be inside a parent that we must not write to.
        const int error = errno;
        struct stat found {};
        if (stat(directory.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return error;
    }
    return 0;
}

int open_empty(const std::string& path, int& fd) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    fd = open(path.c_str(), kFlags, 0644);
    if (fd >= 0) return 0;
    if (errno != ENOENT) return errno;
    if (const int error = make_directories_for(path)) return error;
    fd = open(path.c_str(), kFlags, 0644);
    return fd < 0 ? errno : 0;
}

int rename_file(const std::string& from, const std::string& to) {
    if (std::rename(from.c_str(), to.c_str()) == 0) return 0;
    if (errno != ENOENT) return errno;
    if (const int error = make_directories_for(to)) return error;
    return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

int close_file(Closing& c) {
    Steps step(c.step);
    if (c.is_whole && c.how != End::kDiscard) {
        step("opening", [&] { return open_whole(c); });
        step("writing", [&] { return write_all(c.fd, c.whole, 0); });
    }
    if (c.fd >= 0) {
        if (c.how == End::kDiscard)
            step("removing", [&] { return unlink(c.path.c_str()); });
        else
            complete(c, step);
        if (step.error())
            ::close(c.fd);
        else
            step("closing", [&] { return ::close(c.fd); });
    }
    if (!c.failed && !c.rename_to.empty() && c.how == End::kFinish) {
        step("renaming", [&] {
            errno = rename_file(c.path, c.rename_to);
            return errno ? -1 : 0;
        });
    }
    return step.error();
}

}  // namespace runtime::disk
