#pragma once
// Files, written without ever holding up the loop: what grows (AppendFile), small files as a whole, and renaming and
// removing. Nothing here blocks and nothing yields, but drain(); errors of the disk arrive later. Bytes go to the
// kernel in large aligned pieces: by io_uring around the page cache, or by two worker threads through it, where that is
// not allowed or not wanted. Opening, closing and the like are jobs of those threads in either case. All of it on the
// loop's thread.
//
// It does not read: see offload() in workers.h, or run() below.
//
// Bounds: what a file holds in memory and what all hold together; a disk that is slower than its streams ends those
// files that pass the bound with an error, after a warning with numbers in the log.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "runtime/loop/deadline.h"

namespace runtime::disk {

// Told once, later, never from inside the call that took it. Must not yield. Runs under the context id of the caller.
using Done = std::move_only_function<void(base::Result<void>)>;

struct AppendOptions {
    // Bytes wait so long in memory at most, ms (100 to 3000); -1: as configured; 0: until a buffer is full, and then
    // only the file is opened: a short one is opened, written, closed and renamed by one job at its end.
    int64_t flush_ms = -1;
    // Somebody will read it soon (an HLS segment): it goes through the page cache, not around it.
    bool cached = false;
    // Bytes of its first buffer: AppendFile::buffer_bytes() of the file before it, of the same stream. 0: small.
    size_t first_buffer = 0;
    // The stream that it is of, see file_owner.h.
    std::string owner{};
    // On the medium (fsync) before finish() renames it and is done.
    bool sync = false;
};

class File;  // internal

// A file that grows. Until it is finished it may end in up to 4,095 zero bytes behind the last byte written, and does
// so after a crash: who repairs such a file cuts them off.
class AppendFile {
  public:
    // Makes missing directories; an older file of that name is emptied. All of it behind the scenes: that it failed is
    // told by a later append().
    static std::unique_ptr<AppendFile> create(std::string path, const AppendOptions& options = {});
    // Without finish() or discard() the file stays as far as it was appended, under its own name.
    ~AppendFile();

    // Copies. Fails when the file failed, with the same error each time, which names the file and the reason: a system
    // error (kSystem), or kLimit when the disk does not keep up. All of `bytes` or nothing is taken.
    base::Result<void> append(std::span<const uint8_t> bytes);
    // Replaces bytes that were appended before (a header's fields); done when the file is finished, in the order of the
    // calls. kLimit: more than 4 MB of them.
    base::Result<void> overwrite(uint64_t offset, std::span<const uint8_t> bytes);

    uint64_t size() const;             // bytes appended
    uint64_t written() const;          // of them, with the system: they survive the end of this process
    size_t buffer_bytes() const;       // as large as it found right for what comes between two writes
    const base::Error* error() const;  // null: none so far
    const std::string& path() const;

    // Writes what is left, cuts the file to its size, closes it, renames it (empty: no rename; missing directories are
    // made). If anything failed, before or now, the file is cut to what was written and keeps its name, and Done gets
    // the error. The object is only good for destruction then.
    void finish(std::string rename_to, Done done);
    // Closes and removes it.
    void discard(Done done = nullptr);

    explicit AppendFile(std::shared_ptr<File> file);  // internal
    AppendFile(const AppendFile&) = delete;

  private:
    std::shared_ptr<File> file_;
};

// What is done with one path happens in the order of the calls, files that grow included (their opening, and their
// end).

// A whole small file, by way of path.tmp and a rename: a reader sees the old one or the new one. Makes directories.
// owner: the stream that it is of, see file_owner.h.
void write_file(std::string path, std::string bytes, Done done, std::string owner = {});
// The same for a file that is written again and again. The former one stays as path.tmp and is what the next one is
// written into, where the file system can exchange two names: nothing is made and nothing removed, a seventh of the
// time on ext4. Who opened it two writings ago and reads it still sees other bytes. A write_file leaves no path.tmp.
void rewrite_file(std::string path, std::string bytes, Done done, std::string owner = {});
// It is no error when there is no such file. With `empty_directory` the directory around it goes too when that is
// empty.
void remove(std::string path, Done done = nullptr, bool empty_directory = false);
void rename(std::string from, std::string to, Done done);
// Runs a job on a worker thread, for reading and repairing files; it may take long, and one of them runs at a time. It
// must not touch anything of the loop's: no Ref, no Slice, no log.
void run(std::move_only_function<base::Result<void>()> job, Done done);

enum class Backend : uint8_t { kAuto, kUring, kThreads };

struct Settings {
    Backend backend = Backend::kAuto;
    size_t buffer_bytes = 256 * 1024;  // of the largest buffers; slow streams have smaller ones
    int64_t flush_ms = 1000;
    size_t file_limit_bytes = 32 * 1024 * 1024;    // that one file holds for a slow disk
    size_t total_limit_bytes = 256 * 1024 * 1024;  // that all hold
    bool direct = true;                            // around the page cache where the file system can
};

// Decides how bytes are written, by trying, and says so in the log. Later calls change all but the backend. Whoever
// uses the disk without it gets the defaults above. Fails when a backend was asked for that this system refuses.
base::Result<void> start(const Settings& settings);

struct Status {
    const char* backend = "none";  // "io_uring", "threads"
    std::string reason;            // why not io_uring; empty: it is
    uint64_t files_open = 0;
    uint64_t operations = 0;       // under way: writes, opens, closes ...
    uint64_t bytes_in_flight = 0;  // full buffers that wait or are being written
    uint64_t bytes_buffered = 0;   // memory of all buffers, spare ones too
    uint64_t bytes_written = 0;    // since the start
    uint64_t writes = 0;
    uint64_t files_failed = 0;   // that ended with an error
    uint64_t files_dropped = 0;  // of them, because the disk was too slow
    uint64_t slow_warnings = 0;
    std::string last_error;
};
Status status();

// Waits until nothing is under way: at the server's end, when all files were finished.
base::Result<void> drain(Deadline deadline);

// For tests: what goes wrong, on files whose path contains `path`. A process takes one from the environment:
//   DISK_FAULT="path=live/x op=write delay_ms=2000"      op: write, open, close (with finish), any; error=ENOSPC ...
// DISK_FAULT=@FILE: the same words in a file, which is looked at once a second and need not exist.
struct Fault {
    std::string path;
    bool on_open = false;
    bool on_write = false;
    bool on_close = false;
    int64_t delay_ms = 0;
    int error = 0;             // errno; 0: it succeeds, late
    uint64_t from_offset = 0;  // writes that begin there or behind it
};
base::Result<Fault> parse_fault(std::string_view words);
void set_fault(std::unique_ptr<Fault> fault);  // null: none

}  // namespace runtime::disk
