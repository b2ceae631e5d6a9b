#pragma once
// The file with the process id. It is locked while the process lives, so that a second server with the same file is
// refused, and a file left by a dead process is reused.

#include <string>
#include <utility>

#include "base/result.h"

namespace server {

class PidFile {
  public:
    PidFile() = default;
    PidFile(PidFile&& other) noexcept
        : path_(std::exchange(other.path_, {})), fd_(std::exchange(other.fd_, -1)), owner_(other.owner_) {}
    PidFile& operator=(PidFile&&) = delete;
    // Deletes the file if this is the process that wrote it.
    ~PidFile();

    // kBusy: another server holds it; the text names its pid. A forked child inherits the lock.
    static base::Result<PidFile> lock(const std::string& path);
    // The same, with the lock that another process of the server has given with its descriptor, if that is of this
    // path.
    static base::Result<PidFile> adopt(const std::string& path, int fd);
    // Writes this process's id.
    base::Result<void> write();
    int fd() const { return fd_; }
    // Another process has the file now, with the lock: it stays.
    void leave() { owner_ = 0; }

  private:
    PidFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
    std::string path_;
    int fd_ = -1;
    int owner_ = 0;  // pid of the process that wrote it
};

}  // namespace server
