#include "service/hook/outbox_file.h"

#include <vector>

#include "base/log.h"

namespace service::hook {

using base::Result;
using runtime::LineJournal;

OutboxFile::OutboxFile(std::string path, std::string run)
    : run_(std::move(run)),
      journal_({.path = path,
                .mode = 0600,
                .max_bytes = kMaxBytes,
                .max_pending_bytes = 64 * 1024 * 1024,
                .opened = [this](std::string_view text) { left_ = read_outbox(text); },
                .compaction = [this]() -> LineJournal::Compaction {
                    return [live = std::vector(live_.begin(), live_.end())](std::string_view text) {
                        return compact_outbox(text, live);
                    };
                },
                .failed =
                    [this, path](const base::Error& error) {
                        runtime::error_some(failure_log_,
                                            "hook_outbox {}: {}; reports of this moment do not outlive a crash", path,
                                            error.describe());
                    }}) {}

Result<SavedOutbox> OutboxFile::open() {
    TRY(journal_.open());
    last_number_ = std::max(last_number_, left_.last_number);
    for (const SavedReport& report : left_.reports) live_.insert(report.number);
    for (const SavedSession& session : left_.sessions) live_.insert(session.number);
    journal_.append(run_line(run_));
    journal_.compact();
    return std::move(left_);
}

void OutboxFile::add(const SavedReport& report) {
    if (is_open()) add(report.number, report_line(report));
}

void OutboxFile::add(const SavedSession& session) {
    if (is_open()) add(session.number, session_line(session));
}

void OutboxFile::add(uint64_t number, const std::string& line) {
    live_.insert(number);
    ++pending_;
    journal_.append(line, [this, number](bool is_written) {
        --pending_;
        if (!is_written) live_.erase(number);
    });
}

void OutboxFile::done(uint64_t number) {
    if (live_.erase(number) > 0) journal_.append(done_line(number));
}

void OutboxFile::settle() {
    constexpr int64_t kPollMs = 5, kMaxMs = 1'000;
    const auto until = runtime::Deadline::in_ms(kMaxMs);
    while (pending_ > 0 && !until.passed() && runtime::sleep_ms(kPollMs)) {
    }
}

void OutboxFile::stop() {
    if (!is_open()) return;
    journal_.append(end_line());
    journal_.stop();
}

}  // namespace service::hook
