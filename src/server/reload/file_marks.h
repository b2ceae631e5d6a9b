#pragma once
// The state of a file when it was read, to detect later whether it has changed. Symbolic links are followed.

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

namespace server {

struct FileMark {
    std::string path;  // absolute
    bool there = false;
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t size = 0;
    int64_t changed_ns = 0;  // of content, owner or name

    friend bool operator==(const FileMark&, const FileMark&) = default;
};
using FileMarks = std::vector<FileMark>;

FileMark mark_of(const std::string& path, const struct stat& info);
FileMark mark_of_missing(const std::string& path);
// The current state of the same files. Blocks.
FileMarks read_again(const FileMarks& marks);

}  // namespace server
