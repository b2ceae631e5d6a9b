#pragma once
// OutboxFile: the file of the outbox (hook_outbox): reports until they are delivered, and the clients that are there,
// so that the run after a crash knows whose end nobody told (outbox_text.h has the format, runtime/disk/line_journal.h
// how it is written). Its numbers are those of reports and sessions, over all runs. Numbers are also given, and nothing
// is written, while it is not open: no vhost asks for it, or it cannot be opened.

#include <cstdint>
#include <set>
#include <string>

#include "base/result.h"
#include "net/access/gate.h"
#include "runtime/disk/line_journal.h"
#include "runtime/loop/log_limit.h"
#include "service/hook/outbox_text.h"

namespace service::hook {

class OutboxFile {
  public:
    static constexpr size_t kMaxBytes = size_t{2} * 1024 * 1024 * 1024;

    OutboxFile(std::string path, std::string run);
    OutboxFile(const OutboxFile&) = delete;

    // Whether an earlier run left one. Yields.
    bool exists() const { return journal_.exists(); }
    // Locks it and returns what an earlier run left, all of which is live. Yields. kBusy: another server has it.
    base::Result<SavedOutbox> open();
    // Whether it could be opened now; it is not made. Yields.
    base::Result<void> check() const { return journal_.check(); }
    bool is_open() const { return journal_.is_open(); }

    uint64_t next_number() { return ++last_number_; }
    void add(const SavedReport& report);
    void add(const SavedSession& session);
    // Of a report or a session; others are ignored.
    void done(uint64_t number);
    // Waits until the disk has taken or refused what was added, for a second at most. Yields.
    void settle();
    // Of a report or a session that was added and is not done: false: the disk had no room for it. Before settle() it
    // may be on its way.
    bool has(uint64_t number) const { return live_.contains(number); }
    // Writes what waits. Whatever is not done is left to the next run. Yields.
    void stop();

    size_t live() const { return live_.size(); }
    uint64_t lost() const { return journal_.lost(); }  // lines that are not on disk
    uint64_t bytes() const { return journal_.bytes(); }
    const std::string& run() const { return run_; }

  private:
    void add(uint64_t number, const std::string& line);

    const std::string run_;
    uint64_t last_number_ = 0;
    std::set<uint64_t> live_;
    size_t pending_ = 0;  // on their way to the disk
    SavedOutbox left_;
    runtime::LogLimit failure_log_{3, 10'000};
    runtime::LineJournal journal_;
};

}  // namespace service::hook
