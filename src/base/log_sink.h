#pragma once
// The output of the log's thread: a file descriptor, one write per line, so that a line is in the file as soon as it is
// taken from the queue. It does not format. Called from two threads: the log's, and the one that reopens.

#include <spdlog/sinks/sink.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>

#include "base/result.h"

namespace base::log {

class Sink final : public spdlog::sinks::sink {
  public:
    ~Sink() override;

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
    std::mutex mutex_;  // guards descriptor_, is held during a write
    int descriptor_ = -1;
    std::atomic<uint64_t> failed_lines_ = 0;
    std::mutex flush_mutex_;
    std::condition_variable flushed_;
    uint64_t flushes_ = 0;
};

}  // namespace base::log
