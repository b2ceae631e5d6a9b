#pragma once
// UsageFile: the usage ledger on disk (net/sessions/usage_ledger.h), in a journal of lines
// (runtime/disk/line_journal.h): one line per row (usage_line()); a later line of the same row replaces it. Changed
// rows are appended every kSaveMs, so a crash loses those of the last seconds, in pieces of kPieceBytes, each when the
// one before is written; what the disk had no room for is appended again. A line that cannot be read is left out and
// counted. Of the loop's thread.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "net/sessions/usage_ledger.h"
#include "runtime/disk/line_journal.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/current_error.h"
#include "runtime/loop/sync.h"

namespace service::accounts {

class UsageFile {
  public:
    static constexpr int64_t kSaveMs = 10'000;
    static constexpr size_t kMaxBytes = 512u * 1024 * 1024;
    static constexpr size_t kMaxPending = 64u * 1024 * 1024;
    static constexpr size_t kPieceBytes = 2u * 1024 * 1024;

    // The ledger must outlive it.
    UsageFile(std::string path, net::UsageLedger& ledger);
    UsageFile(const UsageFile&) = delete;

    // Reads what earlier runs counted. While another process has the file, as during an upgrade, that is done when it
    // ends. After an error (no permission) nothing is written. Yields.
    base::Result<void> open();
    // Saves now and then from now on.
    void start();
    // Saves, and ends. Yields.
    void stop();
    // Yields.
    base::Result<void> save();

    uint64_t unreadable_lines() const { return unreadable_lines_; }

  private:
    void read(std::string_view text);
    base::Result<void> save_changes();
    base::Result<void> save_all();
    base::Result<void> append(std::string_view text);

    const std::string path_;
    net::UsageLedger& ledger_;
    bool is_open_ = false;
    bool whole_ = false;  // lines were lost: the next save writes all rows
    uint64_t unreadable_lines_ = 0;
    runtime::CurrentError error_;
    runtime::Event written_{"a piece of the usage"};  // set: the journal has none of them
    runtime::LineJournal journal_;
    runtime::Event stop_{"the next save of the usage"};
    runtime::Deadline stop_until_ = runtime::Deadline::never();
    runtime::Task task_;
};

}  // namespace service::accounts
