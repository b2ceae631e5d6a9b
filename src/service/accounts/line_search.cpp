#include "service/accounts/line_search.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "net/sessions/session_line.h"
#include "runtime/disk/blocking_file.h"

namespace service::accounts {

using base::Code;
using base::Result;

Result<uint64_t> visit_lines_backwards(
    uint64_t size, const std::function<Result<size_t>(uint64_t offset, std::span<uint8_t> buffer)>& read,
    const std::function<bool(std::string_view line)>& visit) {
    std::string rest;      // the beginning of what was read, up to its first end of line
    bool has_end = false;  // of the line that rest is the end of
    bool is_long = false;  // that line is too long
    std::string chunk;
    uint64_t at = size;
    while (at > 0) {
        const size_t bytes = std::min<uint64_t>(at, LineSearch::kChunkBytes);
        at -= bytes;
        chunk.resize(bytes);
        const size_t got = TRY(read(at, {reinterpret_cast<uint8_t*>(chunk.data()), bytes}));
        if (got < bytes) return base::fail(Code::kSystem, "the file became shorter");
        std::string_view text = chunk;
        for (size_t end = text.rfind('\n'); end != text.npos; end = text.rfind('\n')) {
            std::string line(text.substr(end + 1));
            line += rest;
            rest.clear();
            text = text.substr(0, end);
            const bool is_whole = has_end && !is_long && line.size() <= LineSearch::kMaxLine;
            has_end = true;
            is_long = false;
            if (is_whole && !line.empty() && !visit(line)) return size - at;
        }
        if (rest.size() + text.size() > LineSearch::kMaxLine) {
            is_long = true;
            rest.clear();
        } else {
            rest.insert(0, text);
        }
    }
    if (has_end && !is_long && !rest.empty()) visit(rest);
    return size;
}

Result<FoundLines> find_lines(const LineSearch& search) {
    FoundLines found;
    uint64_t left = search.max_bytes;
    bool is_over = false;
    for (const std::string& path : search.paths) {
        auto opened = runtime::BlockingFile::open(path, O_RDONLY | O_NONBLOCK);
        if (!opened && opened.error().code() == Code::kNotFound) continue;
        const runtime::BlockingFile file = TRY(std::move(opened));
        struct stat facts {};
        if (::fstat(file.fd(), &facts) != 0) return base::fail_errno(path, errno);
        if (!S_ISREG(facts.st_mode)) continue;
        uint64_t begin = static_cast<uint64_t>(facts.st_size), size = begin;
        const auto read = [&](uint64_t offset, std::span<uint8_t> buffer) {
            begin = offset;
            return file.read_at(offset, buffer);
        };
        TRY(visit_lines_backwards(size, read, [&](std::string_view line) {
            if (size - begin > left || found.lines.size() >= search.max_lines) {
                found.complete = false;
                return false;
            }
            const auto ended_ms = net::ended_ms_of(line);
            if (!ended_ms || *ended_ms > search.to_ms) return true;
            is_over = *ended_ms < search.from_ms;
            if (is_over) return false;
            const auto has = [&](const std::string& text) { return line.find(text) != line.npos; };
            if (std::ranges::all_of(search.texts, has)) found.lines.emplace_back(line);
            return true;
        }));
        left -= std::min(left, size - begin);
        if (is_over || !found.complete) break;
    }
    return found;
}

}  // namespace service::accounts
