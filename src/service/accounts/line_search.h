#pragma once
// LineSearch: finds lines of access_log (net/sessions/session_line.h) from the end of its files, for a worker thread:
// it uses nothing of the loop's. Lines are in the order of the sessions' ends; so the search ends at the first that is
// too old. What it filters by may let lines through that do not match: the caller reads them.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace service::accounts {

struct LineSearch {
    static constexpr size_t kChunkBytes = 256 * 1024;
    static constexpr size_t kMaxLine = 16 * 1024;  // longer ones are left out

    std::vector<std::string> paths{};  // the newest first; those that are not there are left out
    // Lines of sessions that ended from from_ms to to_ms.
    int64_t from_ms = 0, to_ms = 0;
    std::vector<std::string> texts{};  // each of them is somewhere in the line
    size_t max_lines = 0;
    uint64_t max_bytes = 64 * 1024 * 1024;  // that are read
};

struct FoundLines {
    std::vector<std::string> lines{};  // the newest first
    bool complete = true;              // false: a limit ended the search
};

// Blocks.
base::Result<FoundLines> find_lines(const LineSearch& search);

// The lines of a text, the last one first, until visit() returns false. read: fills the buffer from that offset on, at
// least partly. A part behind the last end of line is left out: it is being written. Returns the bytes that were read.
base::Result<uint64_t> visit_lines_backwards(
    uint64_t size, const std::function<base::Result<size_t>(uint64_t offset, std::span<uint8_t> buffer)>& read,
    const std::function<bool(std::string_view line)>& visit);

}  // namespace service::accounts
