#pragma once
// BlockingFile: an open file for jobs on threads that may block: whole reads and writes by plain system calls. Never on
// the loop, whose files are disk_file.h and file_source.h.

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace runtime {

class BlockingFile {
  public:
    BlockingFile() = default;
    // Takes the descriptor; a negative one: no file is open.
    explicit BlockingFile(int fd) : fd_(fd) {}
    BlockingFile(BlockingFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    BlockingFile& operator=(BlockingFile&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~BlockingFile();

    // flags: those of open(2); a symbolic link is not followed. mode: of a new file. kNotFound: there is no such file.
    static base::Result<BlockingFile> open(const std::string& path, int flags, mode_t mode = 0644);
    // The same, for this process alone until it is closed. kBusy: another one has it. The path names the file when it
    // is locked, although its last owner may have replaced it meanwhile.
    static base::Result<BlockingFile> open_locked(const std::string& path, int flags, mode_t mode = 0644);

    bool is_open() const { return fd_ >= 0; }
    // Whether the path names this file, and not one that has replaced it.
    bool is_at(const std::string& path) const;
    int fd() const { return fd_; }

    // Reads what there is from that offset on; less than the buffer's size only at the end of the file. The number of
    // bytes.
    base::Result<size_t> read_at(uint64_t offset, std::span<uint8_t> buffer) const;
    // Reads to the end, at most so many bytes, of a file that has just been opened; it may be a pipe.
    base::Result<std::string> read_all(size_t max_bytes) const;
    base::Result<void> write_at(uint64_t offset, std::span<const uint8_t> bytes) const;
    // At the end of a file that was opened with O_APPEND.
    base::Result<void> append(std::string_view text) const;
    // The whole file becomes the text, in place.
    base::Result<void> replace(std::string_view text) const;

  private:
    int fd_ = -1;
};

}  // namespace runtime
