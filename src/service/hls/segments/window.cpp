#include "service/hls/segments/window.h"

#include <algorithm>
#include <numeric>

namespace service::hls {

void Window::begin() {
    longest_ms_ = 0;
    for (const Entry& entry : entries_) longest_ms_ = std::max(longest_ms_, entry.item.duration_ms);
    ended_ = false;
}

void Window::add(Entry entry, int64_t now_ms) {
    longest_ms_ = std::max(longest_ms_, entry.item.duration_ms);
    entry.added_ms = now_ms;
    entries_.push_back(std::move(entry));
    while (entries_.size() > kMinSegments && first_is_over(now_ms)) leave(now_ms);
}

bool Window::first_is_over(int64_t now_ms) const {
    if (entries_.size() > options_.max_segments) return true;
    const int64_t added_ms = entries_.front().added_ms;
    return total_ms() > options_.window_ms || (added_ms > 0 && now_ms - added_ms > kMaxWindows * options_.window_ms);
}

// A segment stays until a player with the newest playlist that names it has played it.
void Window::leave(int64_t now_ms) {
    Entry& entry = entries_.front();
    int64_t stays = entry.item.duration_ms + total_ms();
    ++first_;
    discontinuities_ += entry.item.discontinuity ? 1 : 0;
    left_.push_back({std::move(entry), now_ms + stays});
    entries_.pop_front();
}

void Window::recover(uint64_t media_sequence, uint64_t discontinuity_sequence, std::deque<Entry> entries) {
    first_ = media_sequence;
    discontinuities_ = discontinuity_sequence;
    entries_ = std::move(entries);
    begin();
}

void Window::drop(size_t n) {
    for (size_t i = 0; i < n && !entries_.empty(); ++i) {
        leave(0);
        left_.back().until_ms = INT64_MIN;
    }
}

void Window::skip_to(uint64_t sequence) {
    if (entries_.empty()) first_ = std::max(first_, sequence);
}

uint64_t Window::discontinuities() const {
    const auto own = std::ranges::count_if(entries_, [](const Entry& entry) { return entry.item.discontinuity; });
    return discontinuities_ + static_cast<uint64_t>(own);
}

bool Window::move_to(uint64_t sequence, uint64_t discontinuities, int64_t longest_ms, int64_t now_ms) {
    longest_ms_ = std::max(longest_ms_, longest_ms);
    if (next_sequence() == sequence && this->discontinuities() == discontinuities) return false;
    const bool any = !entries_.empty();
    while (!entries_.empty()) leave(now_ms);
    first_ = sequence;
    discontinuities_ = discontinuities;
    return any;
}

bool Window::leave_before(uint64_t sequence, int64_t now_ms) {
    const uint64_t before = first_;
    while (!entries_.empty() && first_ < sequence) leave(now_ms);
    return first_ != before;
}

bool Window::has(std::string_view path) const {
    return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.path == path; }) ||
           std::ranges::any_of(left_, [&](const Left& left) { return left.entry.path == path; });
}

int64_t Window::total_ms() const {
    return std::accumulate(entries_.begin(), entries_.end(), int64_t{0},
                           [](int64_t sum, const Entry& entry) { return sum + entry.item.duration_ms; });
}

uint64_t Window::bytes() const {
    uint64_t sum = 0;
    for (const Entry& entry : entries_) sum += entry.bytes;
    for (const Left& left : left_) sum += left.entry.bytes;
    return sum;
}

int64_t Window::target_s() const { return (std::max(longest_ms_, options_.target_ms) + 999) / 1000; }

m3u8::MediaPlaylist Window::playlist() const {
    m3u8::MediaPlaylist playlist;
    playlist.target_duration_s = target_s();
    playlist.media_sequence = first_;
    playlist.discontinuity_sequence = discontinuities_;
    playlist.independent_segments = std::ranges::all_of(entries_, &Entry::independent);
    playlist.ended = ended_;
    for (const Entry& entry : entries_) playlist.segments.push_back(entry.item);
    return playlist;
}

bool Window::uses(std::string Entry::*file, const std::string& path) const {
    return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.*file == path; }) ||
           std::ranges::any_of(left_, [&](const Left& left) { return left.entry.*file == path; });
}

std::vector<std::string> Window::take_expired(int64_t now_ms, bool all) {
    if (all) {
        while (!entries_.empty()) leave(now_ms);
    }
    std::vector<std::string> paths;
    while (!left_.empty() && (all || left_.front().until_ms <= now_ms || left_.size() > options_.max_segments)) {
        Entry entry = std::move(left_.front().entry);
        left_.pop_front();
        paths.push_back(std::move(entry.path));
        for (auto file : {&Entry::key_path, &Entry::map_path}) {
            std::string& path = entry.*file;
            if (!path.empty() && !uses(file, path)) paths.push_back(std::move(path));
        }
    }
    return paths;
}

}  // namespace service::hls
