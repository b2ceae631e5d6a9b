#pragma once
// Window: the segments that a playlist names, and those that have left it but must stay available to players with an
// older playlist (RFC 8216, 6.2.2). It maintains the media and discontinuity sequence numbers, which never decrease.
// Pure: the caller provides the clock.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/m3u8/playlist.h"

namespace service::hls {

// A segment with its files, as paths below their directory.
struct Entry {
    m3u8::Segment item;
    std::string path;
    std::string key_path{};  // may be shared with other segments; empty: none
    std::string map_path{};  // likewise
    uint64_t bytes = 0;
    bool independent = true;
    int64_t added_ms = 0;  // monotonic; 0: from an earlier run
};

struct WindowOptions {
    int64_t window_ms = 60'000;
    int64_t target_ms = 10'000;  // the target duration's least
    // The most that the playlist names, and as many that have left it: a publisher's times may stand still.
    size_t max_segments = 1'000;
};

class Window {
  public:
    static constexpr size_t kMinSegments = 3;  // minimum number of segments
    // A publisher's times may stand still, so a segment also leaves after this many windows by the clock.
    static constexpr int64_t kMaxWindows = 10;

    explicit Window(const WindowOptions& options) : options_(options) {}

    // A new publishing begins: the target duration may shrink to that of the segments present.
    void begin();
    void add(Entry entry, int64_t now_ms);
    // Restores the state from a playlist that was read.
    void recover(uint64_t media_sequence, uint64_t discontinuity_sequence, std::deque<Entry> entries);
    // Removes the oldest n at once: their files are gone, or must go.
    void drop(size_t n);
    void set_ended(bool ended) { ended_ = ended; }
    bool ended() const { return ended_; }

    uint64_t first_sequence() const { return first_; }
    uint64_t next_sequence() const { return first_ + entries_.size(); }
    void skip_to(uint64_t sequence);  // while it is empty
    // The discontinuity sequence number behind the last segment.
    uint64_t discontinuities() const;
    int64_t longest_ms() const { return longest_ms_; }
    // For a window that follows another one, whose next segment has these numbers: where it does not go on there, all
    // that it has leaves, and it is true. longest_ms: of the other one, for the same target duration.
    bool move_to(uint64_t sequence, uint64_t discontinuities, int64_t longest_ms, int64_t now_ms);
    // The segments before that number leave. True: there were any.
    bool leave_before(uint64_t sequence, int64_t now_ms);
    bool has(std::string_view path) const;  // also checks the entries that have left
    const std::deque<Entry>& entries() const { return entries_; }
    size_t left_entries() const { return left_.size(); }
    uint64_t bytes() const;  // including entries that have left
    int64_t target_s() const;
    m3u8::MediaPlaylist playlist() const;

    // Returns and forgets the files that are no longer needed: expired segments, and keys and maps that no remaining
    // segment uses. all: without waiting.
    std::vector<std::string> take_expired(int64_t now_ms, bool all = false);

  private:
    struct Left {
        Entry entry;
        int64_t until_ms;
    };
    void leave(int64_t now_ms);
    bool first_is_over(int64_t now_ms) const;
    bool uses(std::string Entry::*file, const std::string& path) const;
    int64_t total_ms() const;

    WindowOptions options_;
    uint64_t first_ = 0;
    uint64_t discontinuities_ = 0;  // of the segments that have left
    int64_t longest_ms_ = 0;
    bool ended_ = false;
    std::deque<Entry> entries_;
    std::deque<Left> left_;
};

}  // namespace service::hls
