#include "base/log_ring.h"

#include <algorithm>

namespace base::log {

namespace {

constexpr std::string_view kLevels[] = {"verbose", "info", "trace", "warn", "error", "off"};

bool has(std::string_view text, std::string_view part) {
    const auto equal = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
    return part.empty() || !std::ranges::search(text, part, equal).empty();
}

}  // namespace

std::string_view level_name(Level level) { return kLevels[static_cast<size_t>(level)]; }

void Ring::add(Level level, std::string_view id, std::string_view text, int64_t time_ms) {
    const std::lock_guard lock(mutex_);
    lines_.push_back({++last_seq_, time_ms, level, std::string(id.substr(0, bounds_.bytes / 2)),
                      std::string(text.substr(0, bounds_.bytes / 2))});
    bytes_ += lines_.back().bytes();
    while (lines_.size() > bounds_.lines || bytes_ > bounds_.bytes) {
        bytes_ -= lines_.front().bytes();
        lines_.pop_front();
    }
}

Ring::Page Ring::read(const Query& query) const {
    const std::lock_guard lock(mutex_);
    const auto matches = [&](const Line& line) {
        return line.level >= query.level && (has(line.text, query.search) || has(line.id, query.search)) &&
               (!query.filter || query.filter(line));
    };
    Page page{.lines = {}, .next = last_seq_};
    if (query.after == 0 || query.after > last_seq_) {
        for (auto line = lines_.rbegin(); line != lines_.rend() && page.lines.size() < query.count; ++line)
            if (matches(*line)) page.lines.push_back(*line);
        std::ranges::reverse(page.lines);
        return page;
    }
    for (const Line& line : lines_) {
        if (line.seq <= query.after || !matches(line)) continue;
        page.lines.push_back(line);
        if (page.lines.size() < query.count) continue;
        page.next = line.seq;
        break;
    }
    return page;
}

}  // namespace base::log
