#pragma once
// Internal to the disk. The end of a growing file as a worker's job: cut, patched, synced, closed, renamed. A file that
// was never opened is opened and written by the same job.

#include <sys/uio.h>

#include <cstdint>
#include <string>
#include <vector>

namespace runtime::disk {

struct Patch {
    uint64_t offset;
    std::vector<uint8_t> bytes;
};

// kLeave: only closed.
enum class End : uint8_t { kLeave, kFinish, kDiscard };

struct Closing {
    int fd = -1;  // the job closes it; -1: it was never opened, or opening failed
    bool is_whole = false;
    std::vector<iovec> whole;  // all bytes of the file, when is_whole
    bool sync = false;
    bool failed = false;
    End how = End::kLeave;
    uint64_t size = 0;
    std::vector<Patch> patches;
    std::string path;
    std::string rename_to;
    std::string owner;
    const char* step = "closing";  // the step that failed, for the error
};

// 0 or errno. Blocks.
int close_file(Closing& closing);

// Creates or truncates a file for writing, creating its directories: sets fd. 0 or errno. Blocks.
int open_empty(const std::string& path, int& fd);

}  // namespace runtime::disk
