#pragma once
// The output of the log's thread: a file descriptor, one write per line, so that a line is in the file as soon as it is
// taken from the queue. Lines that are lost, because the disk is full or the queue was, are counted, and the next line
// that is written has a line before it that says so. Called from two threads: the log's, and the one that reopens.

#include <spdlog/sinks/sink.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "base/result.h"

namespace base::log {

class Sink final : public spdlog::sinks::sink {
  public:
    // A whole line of the log, which says that `lines` are missing. error: an errno; 0: the queue was full.
    using Notice = std::function<std::string(uint64_t lines, int error)>;

    explicit Sink(Notice notice) : notice_(std::move(notice)) {}
    ~Sink() override;
    // How many lines the queue has dropped; asked from the log's thread.
    void set_overruns(std::function<uint64_t()> overruns) { overruns_ = std::move(overruns); }

    // An empty path is the console (stdout). On an error the old descriptor stays open.
    Result<void> open(const std::string& path);
    // Writes at once, from the calling thread.
    void write_line(std::string_view line);
    uint64_t failed_lines() const { return failed_lines_; }

    // The number of flushes that the log's thread has reached, and waiting for the next one, at most `ms`.
    uint64_t flushes();
    void wait_flush(uint64_t before, int ms);

    void log(const spdlog::details::log_msg& message) override;
    void flush() override;
    // Lines arrive formatted.
    void set_pattern(const std::string&) override {}
    void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

  private:
    bool write_all(std::string_view bytes);
    bool tell_losses();
    void tell_overruns();

    const Notice notice_;
    std::function<uint64_t()> overruns_;
    uint64_t overruns_told_ = 0;
    int64_t overruns_told_ms_ = 0;
    std::mutex mutex_;  // guards what follows, is held during a write
    int descriptor_ = -1;
    // Since the last line that was written.
    uint64_t lost_lines_ = 0;
    int lost_error_ = 0;
    bool is_torn_ = false;  // of the last one a part was
    std::atomic<uint64_t> failed_lines_ = 0;
    std::mutex flush_mutex_;
    std::condition_variable flushed_;
    uint64_t flushes_ = 0;
};

}  // namespace base::log
