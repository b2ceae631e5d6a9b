#pragma once
// File output that never blocks the loop: growing files (AppendFile), small files written as a whole, renaming and
// removing. No function here blocks, and only drain() yields; disk errors are reported later. Two worker threads do all
// of it: they write large pieces through the page cache, open, close and rename. All functions are called on the loop's
// thread.
//
// It does not read: use offload() in workers.h, or run() below.
//
// Bounds: the bytes that one file holds in memory, and those that all files hold together. When the disk is slower than
// its streams, files that exceed a bound fail with an error, after a warning with numbers in the log.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "runtime/loop/deadline.h"

namespace runtime::disk {

// Called once, later, never from inside the call that took it. Must not yield. Runs under the context id of the caller.
using Done = std::move_only_function<void(base::Result<void>)>;

struct AppendOptions {
    // The longest time that bytes wait in memory, ms (100 to 3000); -1: as configured; 0: until a buffer is full, and
    // only then the file is opened: a file shorter than that is opened, written, closed and renamed by one job at its
    // end.
    int64_t flush_ms = -1;
    // Size of its first buffer in bytes: AppendFile::buffer_bytes() of the preceding file of the same stream. 0: small.
    size_t first_buffer = 0;
    // The stream that the file belongs to, see file_owner.h.
    std::string owner{};
    // fsync before finish() renames the file and calls Done.
    bool sync = false;
    // The file is not created before AppendFile::releaser()'s function is called, or this many ms have passed; what is
    // appended meanwhile waits in memory. 0: it is not held back.
    int64_t hold_ms = 0;
};

class File;  // internal

// A growing file.
class AppendFile {
  public:
    // Missing directories are created; an existing file of that name is truncated. All of this happens asynchronously:
    // a later append() reports a failure.
    static std::unique_ptr<AppendFile> create(std::string path, const AppendOptions& options = {});
    // Without finish() or discard() the file keeps what was appended so far, under its own name.
    ~AppendFile();

    // Copies. After a failure every call returns the same error, which names the file and the reason: a system error
    // (kSystem), or kLimit when the disk does not keep up. Takes all of `bytes` or nothing.
    base::Result<void> append(std::span<const uint8_t> bytes);
    // Replaces bytes that were appended before (a header's fields). The replacements are written when the file is
    // finished, in the order of the calls. kLimit: more than 4 MB of them.
    base::Result<void> overwrite(uint64_t offset, std::span<const uint8_t> bytes);

    // What lets a file with AppendOptions::hold_ms be created. Does not yield; the AppendFile may be gone by then.
    std::move_only_function<void()> releaser() const;

    uint64_t size() const;             // bytes appended
    uint64_t written() const;          // of them, handed to the system: they survive the end of this process
    size_t buffer_bytes() const;       // the buffer size chosen for what is appended between two writes
    const base::Error* error() const;  // null: none so far
    const std::string& path() const;

    // Writes what is left, cuts the file to its size, closes it and renames it (empty: no rename; missing directories
    // are created). If anything failed, before or now, the file is cut to what was written and keeps its name, and Done
    // gets the error. After the call the object can only be destroyed.
    void finish(std::string rename_to, Done done);
    // Closes and removes it.
    void discard(Done done = nullptr);

    explicit AppendFile(std::shared_ptr<File> file);  // internal
    AppendFile(const AppendFile&) = delete;

  private:
    std::shared_ptr<File> file_;
};

// Operations on one path run in the order of the calls, including the opening and the end of growing files.

// Writes a whole small file through path.tmp and a rename: a reader sees the old file or the new one. Creates
// directories.
// owner: the stream that the file belongs to, see file_owner.h.
void write_file(std::string path, std::string bytes, Done done, std::string owner = {});
// A missing file is no error. With `empty_directory` the file's directory is removed too when it is empty.
void remove(std::string path, Done done = nullptr, bool empty_directory = false);
void rename(std::string from, std::string to, Done done);
// Runs a job on a worker thread, for reading and repairing files. It may take long; one such job runs at a time. It
// must not touch anything of the loop's: no Ref, no Slice, no log.
void run(std::move_only_function<base::Result<void>()> job, Done done);

struct Settings {
    size_t buffer_bytes = 256 * 1024;  // size of the largest buffers; slow streams have smaller ones
    int64_t flush_ms = 1000;
    size_t file_limit_bytes = 32 * 1024 * 1024;    // held by one file for a slow disk
    size_t total_limit_bytes = 256 * 1024 * 1024;  // held by all files
};

// Later calls change the settings. Without this call the disk works with the defaults above.
base::Result<void> start(const Settings& settings);

struct Status {
    uint64_t files_open = 0;
    uint64_t operations = 0;       // in progress: writes, opens, closes ...
    uint64_t bytes_in_flight = 0;  // full buffers, waiting or being written
    uint64_t bytes_buffered = 0;   // memory of all buffers, including spare ones
    uint64_t bytes_written = 0;    // since the start
    uint64_t writes = 0;
    uint64_t files_failed = 0;   // that ended with an error
    uint64_t files_dropped = 0;  // of them, because the disk was too slow
    uint64_t slow_warnings = 0;
    std::string last_error;
};
Status status();

// Waits until no operation is in progress. For the end of the server, after all files were finished.
base::Result<void> drain(Deadline deadline);

// For tests: a fault injected into files whose path contains `path`. A process takes one from the environment:
//   DISK_FAULT="path=live/x op=write delay_ms=2000"      op: write, open, close (with finish), any of these three;
//   read,
//                                                        of FileSource alone; error=ENOSPC ...
// DISK_FAULT=@FILE: the same text in a file, which is checked once a second and need not exist.
struct Fault {
    std::string path;
    bool on_open = false;
    bool on_write = false;
    bool on_close = false;
    bool on_read = false;
    int64_t delay_ms = 0;
    int error = 0;             // errno; 0: it succeeds, after the delay
    uint64_t from_offset = 0;  // writes that begin at or after it
};
base::Result<Fault> parse_fault(std::string_view text);
void set_fault(std::unique_ptr<Fault> fault);  // null: none
// What a worker that reads the file does first: it waits, and fails with the errno unless it is 0.
struct ReadFault {
    int64_t delay_ms = 0;
    int error = 0;
};
ReadFault read_fault(const std::string& path);

}  // namespace runtime::disk
