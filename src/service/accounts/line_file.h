#pragma once
// LineFile: a text file that grows by lines, for records: the loop adds lines, a worker thread writes them in batches a
// fraction of a second later. Bounded: what waits for a disk that is slow or full takes kMaxWaiting bytes at most;
// further lines are dropped and counted, and that is logged when there is room again. The file is opened again when it
// was renamed or removed, as by logrotate: before each batch, without a signal. Of the loop's thread.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/current_error.h"
#include "runtime/loop/log_limit.h"
#include "runtime/loop/sync.h"

namespace service::accounts {

class LineFile {
  public:
    static constexpr size_t kMaxWaiting = 4 * 1024 * 1024;
    static constexpr size_t kFullBatch = 256 * 1024;
    static constexpr int64_t kBatchMs = 200;   // how long a line waits for others
    static constexpr int64_t kRetryMs = 1000;  // after an error

    // name: for the log, "access_log".
    explicit LineFile(std::string name);
    ~LineFile();
    LineFile(const LineFile&) = delete;

    // Later batches go there. Empty: lines are ignored, but for those that wait.
    void set_path(std::string path);
    bool is_on() const { return is_on_; }
    // line: without its end. Does not yield.
    void add(std::string_view line);
    // Writes what waits, for some seconds at most, and ends. Yields.
    void stop();

    struct Counters {
        uint64_t written = 0;  // lines
        uint64_t dropped = 0;  // likewise: no room, or the end of the server
    };
    const Counters& counters() const { return counters_; }
    size_t waiting_bytes() const { return pending_.size() + batch_bytes_; }

  private:
    struct Disk;
    void run();
    void await_batch();
    bool write_batch();
    void report_drops();

    const std::string name_;
    std::string path_;
    bool is_on_ = false;
    std::string pending_;
    uint64_t pending_lines_ = 0;
    size_t batch_bytes_ = 0;  // being written, or to be tried again
    uint64_t batch_lines_ = 0;
    uint64_t dropped_before_ = 0;  // reported
    bool stopping_ = false;
    Counters counters_;
    std::shared_ptr<Disk> disk_;
    runtime::CurrentError error_;
    runtime::LogLimit drop_log_;
    runtime::Event changed_{"lines for a file"};
    runtime::Task writer_;
};

}  // namespace service::accounts
