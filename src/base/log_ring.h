#pragma once
// The newest lines of the log, in memory: for operators who have no access to its file. Bounded by lines and by bytes;
// the oldest lines leave first. Thread-safe. Lines are in it whatever becomes of the file.

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"

namespace base::log {

// "verbose", "info", "trace", "warn", "error", "off".
std::string_view level_name(Level level);

class Ring {
  public:
    struct Bounds {
        size_t lines = 2'000;
        size_t bytes = 512 * 1024;  // of texts and ids
    };
    struct Line {
        uint64_t seq = 0;     // from 1, without gaps
        int64_t time_ms = 0;  // wall clock
        Level level = Level::kTrace;
        std::string id;  // of the session; may be empty
        std::string text;
        size_t bytes() const { return id.size() + text.size(); }
    };
    struct Query {
        uint64_t after = 0;  // lines with a greater seq; 0, and a number that no line has yet: the newest lines
        Level level = Level::kVerbose;  // and above
        std::string search{};           // part of text or id, in lower case
        size_t count = 200;             // at most
        // Which lines are wanted; empty: all. It is called under the ring's lock, and must not log.
        std::function<bool(const Line&)> filter{};
    };
    struct Page {
        std::vector<Line> lines;  // the oldest first
        uint64_t next = 0;        // for the next query's `after`
    };

    Ring() : Ring(Bounds()) {}
    explicit Ring(const Bounds& bounds) : bounds_(bounds) {}

    // A text longer than the bound is cut.
    void add(Level level, std::string_view id, std::string_view text, int64_t time_ms);
    // The first lines after `after`, or the newest ones without it.
    Page read(const Query& query) const;

  private:
    const Bounds bounds_;
    mutable std::mutex mutex_;
    std::deque<Line> lines_;
    size_t bytes_ = 0;
    uint64_t last_seq_ = 0;
};

// That of this process: every line that was logged, since the start.
const Ring& ring();

}  // namespace base::log
