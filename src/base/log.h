#pragma once
// The log: lines "[time][level][pid][context id][errno] text", to the console or a file, written by a separate thread
// so that a slow disk never blocks the loop; its queue is bounded and counts what it drops. The context id identifies
// the session: runtime/ installs a provider that returns the running coroutine's. Pure code returns errors, it does not
// log.

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace base::log {

enum class Level : uint8_t { kVerbose, kInfo, kTrace, kWarn, kError, kOff };  // SRS's order: trace is the normal level

struct Options {
    bool console = true;  // otherwise to file
    std::string file;
    Level level = Level::kTrace;
    bool utc = false;
    // Lines show TRACE, DEBUG, INFO, WARN, ERROR instead of verbose, info, trace, warn, error.
    bool usual_names = false;
};

// Opens the log. Before that, lines go to stderr at once. May be called again (reload). Call it after daemonising: it
// starts a thread.
Result<void> open(const Options& options);
// Opens the file again, for log rotation. On an error the old file stays in use. May be called on any thread, and may
// block; no other thread may call open(), turn_to() or close() meanwhile.
Result<void> reopen();
// Changes an open log without a gap, in two steps. turn_to(): lines go to that file, or to the console, from now on; on
// an error the old target stays in use. Threads: as reopen(). adopt(): applies the same options' level and clock, and
// the file's name; on the loop's thread.
Result<void> turn_to(const Options& options);
void adopt(const Options& options);
// Waits until the queue is written, at most 2 seconds; for the process's end, and before abort.
void flush();
// Writes the queued lines and ends the thread. Later lines go to stderr.
void close();
// Lines that were never written, because the queue was full (the oldest are dropped) or the write failed.
uint64_t dropped_lines();
bool parse_level(std::string_view name, Level& out);  // verbose|debug, info, trace, warn, error, off

// Returns the [context id] of each line.
using ContextIdProvider = std::string_view (*)();
void set_context_provider(ContextIdProvider provider);

extern Level active_level;
inline bool enabled(Level level) { return level >= active_level; }
// A peer's text cannot forge a line: control characters are written as \xNN, and text is cut after 8 KiB. Secrets in
// URLs are hidden (base/redaction.h).
void write(Level level, std::string_view text, int system_errno = 0);
// The last line of a process that is about to abort: written at once to stderr, and to the log if it is open.
void last_words(std::string_view text);

template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(Level::kInfo)) write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void trace(fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(Level::kTrace)) write(Level::kTrace, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(Level::kWarn)) write(Level::kWarn, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(Level::kError)) write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace base::log
