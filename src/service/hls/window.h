#pragma once
// Window: the segments that a playlist names, and those that have left it but must stay for those who read an older one
// (RFC 8216, 6.2.2). It counts the media and discontinuity sequences, which never go back. Pure: the clock is handed
// in.

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
    std::string key_path{};  // may be shared with others; empty: none
    std::string map_path{};  // likewise
    uint64_t bytes = 0;
    bool independent = true;
    int64_t added_ms = 0;  // monotonic; 0: by an earlier run
};

struct WindowOptions {
    int64_t window_ms = 60'000;
    int64_t target_ms = 10'000;  // the target duration's least
};

class Window {
  public:
    static constexpr size_t kFewest = 3;  // segments
    // A publisher's times may stand still: a segment leaves after so many windows by the clock too.
    static constexpr int64_t kMaxWindows = 10;

    explicit Window(const WindowOptions& options) : options_(options) {}

    // Another publishing: the target duration may shrink to what is there.
    void begin();
    void add(Entry entry, int64_t now_ms);
    // As it was, from a playlist that was read.
    void recover(uint64_t media_sequence, uint64_t discontinuity_sequence, std::deque<Entry> entries);
    // The oldest n leave, and are not waited for: their files are gone, or must go.
    void drop(size_t n);
    void set_ended(bool ended) { ended_ = ended; }
    bool ended() const { return ended_; }

    uint64_t first_sequence() const { return first_; }
    uint64_t next_sequence() const { return first_ + entries_.size(); }
    void skip_to(uint64_t sequence);        // while it is empty
    bool has(std::string_view path) const;  // also among those that have left
    const std::deque<Entry>& entries() const { return entries_; }
    size_t left_entries() const { return left_.size(); }
    uint64_t bytes() const;  // of all, those that have left too
    int64_t target_s() const;
    m3u8::MediaPlaylist playlist() const;

    // The files that nobody needs any more, and forgets them: segments whose time is over, and keys and maps of none
    // that is left. all: at once.
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
    uint64_t discontinuities_ = 0;  // of those that have left
    int64_t longest_ms_ = 0;
    bool ended_ = false;
    std::deque<Entry> entries_;
    std::deque<Left> left_;
};

}  // namespace service::hls
