#pragma once
// Internal to the disk. The end of a file that grew, as a job for a worker: cut, patched, synced, closed, renamed; of a
// file that was never opened all of it, beginning with the opening.

#include <sys/uio.h>

#include <cstdint>
#include <string>
#include <vector>

namespace runtime::disk {

struct Patch {
    uint64_t offset;
    std::vector<uint8_t> bytes;
};

// kLeave: closed, no more.
enum class End : uint8_t { kLeave, kFinish, kDiscard };

struct Closing {
    int fd = -1;  // the job closes it; -1: it was never opened, or that failed
    bool is_whole = false;
    std::vector<iovec> whole;  // all its bytes, where is_whole
    bool direct = false;
    bool sync = false;
    bool failed = false;
    End how = End::kLeave;
    uint64_t size = 0;
    std::vector<Patch> patches;
    std::string path;
    std::string rename_to;
    std::string owner;
    const char* step = "closing";  // what it was at when it failed
};

// 0 or errno. Blocks.
int close_file(Closing& closing);

// Opens a file for writing, empty, with the directories before it: sets fd. 0 or errno. `direct`: asked for, and
// whether the file system took it. Blocks.
int open_empty(const std::string& path, bool& direct, int& fd);

}  // namespace runtime::disk
