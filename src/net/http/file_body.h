#pragma once
// Sends a response's head and a body that lies in files, without the loop ever waiting for a disk. A large body on a
// plain connection is sent by sendfile(); small ones, and those over TLS, are read into the loop's buffer first. Large
// ones over TLS are encrypted by sender threads, where there are some. What is not in memory is read by a worker.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/disk/file_source.h"
#include "runtime/socket/byte_stream.h"

namespace net {

struct FilePart {
    std::shared_ptr<runtime::disk::FileSource> source;
    uint64_t offset = 0;
    uint64_t length = 0;
    // It may be overwritten in place. sendfile() sends pages, not copies: what a slow client has not received yet would
    // change.
    bool is_rewritten = false;
};
using FileParts = std::vector<FilePart>;

class FileBody {
  public:
    // Up to this many bytes are copied: that takes fewer system calls.
    static constexpr size_t kCopiedBytes = 32 * 1024;
    // Read and sent at once where bytes are copied. The time limit for writes is for so many bytes.
    static constexpr size_t kPieceBytes = 64 * 1024;
    // Read and encrypted at once by a sender thread, and the least that is worth it.
    static constexpr size_t kLentBytes = 256 * 1024, kMinLentBytes = 32 * 1024;
    // So many bodies have a buffer for that at a time, for each thread; the loop encrypts the others.
    static constexpr size_t kLentAtOnce = 4;

    // sent: called with the bytes of the body that the connection has taken; must not yield.
    FileBody(runtime::ByteStream& stream, int64_t write_timeout_ms, std::function<void(size_t)> sent);
    // Yields. Sends less, without an error, where a file has become shorter.
    base::Result<void> send(std::string_view head, FileParts parts);

  private:
    struct Attempt {
        size_t ready = 0;  // bytes that could have been sent; 0: the next ones are not in memory
        size_t sent = 0;
    };
    base::Result<void> send_part(FilePart& part);
    base::Result<Attempt> send_ready(const FilePart& part);
    base::Result<Attempt> send_by_thread(const FilePart& part, std::span<uint8_t> buffer);
    base::Result<void> fetch(FilePart& part, bool shared);
    void account(FilePart& part, size_t bytes);
    runtime::Deadline deadline();

    runtime::ByteStream& stream_;
    const int64_t write_timeout_ms_;
    const std::function<void(size_t)> sent_;
    const bool is_plain_;
    std::span<const uint8_t> head_{};            // what is left of it
    std::optional<runtime::Deadline> deadline_;  // of the current piece, from when it first waits
    size_t since_deadline_ = 0;                  // bytes
    uint64_t fetched_at_ = UINT64_MAX;           // the offset for which a worker was last asked
    int in_vain_ = 0;                            // attempts since something was sent
    bool cut_ = false;                           // a file ended too early
};

}  // namespace net
