#pragma once
// LineJournal: a small file of the server itself to which lines are appended, so that the next run knows what this one
// had not finished. A coroutine writes it through worker threads, many lines at once; a line is in the file within
// milliseconds, and outlives the process then. It is not synchronised with the medium: a machine that loses power loses
// the lines of the last seconds. When as much was appended as the file had, it is replaced by a shorter one, which is
// synchronised. Locked: two servers never share one.
//
// A full disk costs the lines that it has no room for: what was written of them is removed again, they are counted, and
// later lines are tried anew. Behind the first that are written the file is replaced, because lines that say what is
// done may be missing; as long as that fails it is tried again with later lines, not all the time. A file that cannot
// be opened is not tried again.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"

namespace runtime {

class LineJournal {
  public:
    // Called once, when the line is in the file or cannot get there; now or later. It must not yield.
    using Written = std::move_only_function<void(bool is_written)>;
    // Makes the lines that are still needed of the file's text. Runs on a worker thread: it owns its data.
    using Compaction = std::move_only_function<std::string(std::string_view text)>;

    struct Options {
        std::string path;
        mode_t mode = 0644;                          // of a new file
        size_t max_bytes = 64 * 1024 * 1024;         // a larger file is none of this journal's
        size_t max_pending_bytes = 8 * 1024 * 1024;  // of lines that wait for the disk; further ones are lost
        // All of these are called on the loop and must not yield.
        std::function<void(std::string_view text)> opened;     // what an earlier run left, maybe with a torn last line
        std::function<Compaction()> compaction;                // by the lines so far, those that wait included
        std::function<void(const base::Error& error)> failed;  // lines were lost; called before their Written
    };

    explicit LineJournal(Options options);
    ~LineJournal();  // stop() was called, or no line was appended
    LineJournal(const LineJournal&) = delete;

    // Whether an earlier run left one. Yields.
    bool exists() const;
    // Locks the file and passes its text to Options::opened. Yields. If it is not called, that is done before the first
    // line is written. kBusy: another server has it; kLimit: it is too large.
    base::Result<void> open();
    // Whether open() would work now, as far as that can be known of a file that is not made and not kept open. Yields.
    base::Result<void> check() const;
    bool is_open() const { return disk_ != nullptr; }
    // In place of open(), where another process of this server has the file until it ends: it is opened then, and
    // replaced by what Options::compaction makes. Lines of before are only in that.
    void await_lock();

    // The text is one line or several, which get there together or not at all.
    void append(std::string_view lines, Written written = nullptr);
    // The file is replaced soon, whatever it has.
    void compact();
    // Writes what waits and ends. Yields, for some seconds at most.
    void stop();

    uint64_t lost() const { return lost_; }  // appends that came to nothing
    uint64_t bytes() const { return bytes_; }

  private:
    struct Disk;
    void wake();
    void run();
    bool has_work() const { return !pending_.empty() || (compact_due_ && disk_); }
    base::Result<void> write(std::string lines);
    static void notify(std::vector<Written> waiting, bool is_written);
    base::Result<void> take_lock();

    Options options_;
    std::shared_ptr<Disk> disk_;
    bool failed_ = false;
    bool awaits_lock_ = false;
    bool stopping_ = false;
    bool compact_due_ = false;
    bool is_stale_ = false;       // lines were lost since the file was replaced, or it could not be replaced
    int64_t stale_retry_ms_ = 0;  // of the loop's clock
    std::string pending_;
    size_t pending_appends_ = 0;
    std::vector<Written> waiting_;  // for the pending lines
    uint64_t bytes_ = 0;            // of the file
    uint64_t compacted_bytes_ = 0;  // of the file when it was replaced last
    uint64_t lost_ = 0;
    Event changed_{"lines for the journal"};
    Task writer_;
};

}  // namespace runtime
