#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <iterator>
#include <memory>

#include "base/clock.h"
#include "base/log_ring.h"
#include "base/log_sink.h"
#include "base/redaction.h"

namespace base::log {

Level active_level = Level::kTrace;

namespace {

constexpr size_t kQueueLines = 8192;
constexpr size_t kMaxText = 8192;
constexpr int kFlushMs = 2000;

constexpr std::string_view kLevelNames[] = {"verbose", "info", "trace", "warn", "error", "off"};
constexpr std::string_view kUsualNames[] = {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"};

struct OpenLog {
    std::string file;  // empty for the console
    std::shared_ptr<Sink> sink;
    std::shared_ptr<spdlog::details::thread_pool> pool;
    std::shared_ptr<spdlog::async_logger> logger;
    pid_t pid = getpid();

    bool has_thread() const { return pid == getpid(); }  // a forked child has none
    ~OpenLog() {
        if (has_thread()) return;
        // Joining the parent's thread from a child would wait for ever: leak the pool instead.
        static_cast<void>(std::make_unique<std::shared_ptr<void>>(std::move(pool)).release());
    }
};

// Destroyed at exit, which writes the queued lines.
std::unique_ptr<OpenLog> open_log;
ContextIdProvider context_provider = nullptr;
bool utc = false;
bool usual_names = false;
uint64_t dropped_before = 0;  // by logs that were closed
Ring newest_lines;

// The date changes once a second, and computing it is the expensive part of a line. thread_local, because last_words()
// may run on another thread.
void append_time(fmt::memory_buffer& line) {
    thread_local int64_t second_known = -1;
    thread_local bool utc_known = false;
    thread_local char text[32];
    int64_t now = wall_ms();
    if (now / 1000 != second_known || utc != utc_known) {
        second_known = now / 1000;
        utc_known = utc;
        time_t seconds = second_known;
        tm parts;
        if (utc)
            gmtime_r(&seconds, &parts);
        else
            localtime_r(&seconds, &parts);
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
    }
    fmt::format_to(std::back_inserter(line), "{}.{:03}", text, now % 1000);
}

void append_escaped(fmt::memory_buffer& line, std::string_view text) {
    for (char c : text.substr(0, kMaxText)) {
        auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f)
            fmt::format_to(std::back_inserter(line), "\\x{:02x}", byte);
        else
            line.push_back(c);
    }
    if (text.size() > kMaxText) fmt::format_to(std::back_inserter(line), "... ({} bytes more)", text.size() - kMaxText);
}

struct FormattedLine {
    fmt::memory_buffer buffer;
    size_t text_at = 0;
    std::string_view whole() const { return {buffer.data(), buffer.size()}; }
    // The text without the fields before it and the end of the line.
    std::string_view text() const { return whole().substr(text_at, buffer.size() - text_at - 1); }
};

std::string_view context_id() { return context_provider ? context_provider() : std::string_view("-"); }

FormattedLine format_line(Level level, std::string_view text, int system_errno, std::string_view id = context_id()) {
    FormattedLine formatted;
    fmt::memory_buffer& line = formatted.buffer;
    line.push_back('[');
    append_time(line);
    std::string_view name = (usual_names ? kUsualNames : kLevelNames)[static_cast<int>(level)];
    fmt::format_to(std::back_inserter(line), "][{}][{}][{}][{}] ", name, getpid(), id, system_errno);
    formatted.text_at = line.size();
    if (has_secrets(text)) {
        append_escaped(line, redact(text));
    } else {
        append_escaped(line, text);
    }
    line.push_back('\n');
    return formatted;
}

// On any thread.
std::string lost_lines_notice(uint64_t lines, int error) {
    const std::string text = error
                                 ? fmt::format("{} lines of the log are missing here: they could not be written", lines)
                                 : fmt::format("{} lines of the log are missing here: it was too slow for them", lines);
    return std::string(format_line(Level::kError, text, error, "-").whole());
}

void write_stderr(std::string_view line) {
    ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    (void)written;  // there is no way left to report a failure
}

// Signals are to be handled by the loop: a thread inherits the mask of its creator.
std::shared_ptr<spdlog::details::thread_pool> start_thread() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    auto pool = std::make_shared<spdlog::details::thread_pool>(kQueueLines, 1);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return pool;
}

}  // namespace

Result<void> open(const Options& options) {
    std::string file = options.console ? "" : options.file;
    if (!options.console && file.empty()) return fail(Code::kConfig, "the log goes to a file, but none is named");
    auto sink = std::make_shared<Sink>(lost_lines_notice);
    TRY(sink->open(file));
    close();
    auto pool = start_thread();
    sink->set_overruns([pool = pool.get()] { return pool->overrun_counter(); });
    auto logger =
        std::make_shared<spdlog::async_logger>("srs", sink, pool, spdlog::async_overflow_policy::overrun_oldest);
    logger->set_level(spdlog::level::trace);
    open_log = std::make_unique<OpenLog>(file, sink, pool, logger);
    active_level = options.level;
    utc = options.utc;
    usual_names = options.usual_names;
    return {};
}

Result<void> reopen() {
    if (!open_log) return {};
    return open_log->sink->open(open_log->file);
}

Result<void> turn_to(const Options& options) {
    if (!options.console && options.file.empty())
        return fail(Code::kConfig, "the log goes to a file, but none is named");
    if (!open_log) return {};
    return open_log->sink->open(options.console ? "" : options.file);
}

void adopt(const Options& options) {
    if (open_log) open_log->file = options.console ? "" : options.file;
    active_level = options.level;
    utc = options.utc;
    usual_names = options.usual_names;
}

void flush() {
    if (!open_log || !open_log->has_thread()) return;
    uint64_t before = open_log->sink->flushes();
    open_log->logger->flush();
    open_log->sink->wait_flush(before, kFlushMs);
}

void close() {
    if (!open_log) return;
    flush();
    dropped_before = dropped_lines();
    open_log.reset();
}

uint64_t dropped_lines() {
    if (!open_log) return dropped_before;
    return dropped_before + open_log->pool->overrun_counter() + open_log->sink->failed_lines();
}

bool parse_level(std::string_view name, Level& out) {
    if (name == "debug") name = "verbose";
    auto found = std::find(std::begin(kLevelNames), std::end(kLevelNames), name);
    if (found == std::end(kLevelNames)) return false;
    out = static_cast<Level>(found - std::begin(kLevelNames));
    return true;
}

const Ring& ring() { return newest_lines; }

void set_context_provider(ContextIdProvider provider) { context_provider = provider; }

void write(Level level, std::string_view text, int system_errno) {
    if (!enabled(level) || level == Level::kOff) return;
    const FormattedLine formatted = format_line(level, text, system_errno);
    const std::string_view line = formatted.whole();
    const bool is_child =
        open_log && !open_log->has_thread();  // nothing reads the ring there, and its lock may be held
    if (!is_child) newest_lines.add(level, context_id(), formatted.text(), wall_ms());
    if (!open_log) return write_stderr(line);
    if (is_child) return open_log->sink->write_line(line);
    open_log->logger->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
}

void last_words(std::string_view text) {
    const FormattedLine formatted = format_line(Level::kError, text, 0);
    const std::string_view line = formatted.whole();
    write_stderr(line);
    if (!open_log) return;
    flush();
    // If the console is the same terminal, it already has the line.
    if (!open_log->file.empty()) open_log->sink->write_line(line);
}

}  // namespace base::log
