#include "service/accounts/usage_file.h"

#include <map>
#include <ranges>
#include <utility>

#include "base/log.h"
#include "base/record_lines.h"
#include "runtime/loop/cpu_slice.h"

namespace service::accounts {

using base::Result;
using runtime::Deadline;

namespace {
constexpr int64_t kPieceMs = 60'000;
constexpr int64_t kStopMs = 10'000;
}  // namespace

UsageFile::UsageFile(std::string path, net::UsageLedger& ledger)
    : path_(std::move(path)),
      ledger_(ledger),
      journal_({.path = path_,
                .mode = 0640,
                .max_bytes = kMaxBytes,
                .max_pending_bytes = kMaxPending,
                .opened = [this](std::string_view text) { read(text); },
                .compaction = [this]() -> runtime::LineJournal::Compaction {
                    return [first = ledger_.first_day()](std::string_view text) {
                        return net::newest_usage_lines(text, first);
                    };
                },
                .failed =
                    [this](const base::Error& error) {
                        whole_ = true;
                        if (error_.update(error.text()))
                            base::log::error("usage: {}; it is kept in memory meanwhile", error.text());
                    }}) {
    written_.set();
}

Result<void> UsageFile::open() {
    auto opened = journal_.open();
    if (!opened && opened.error().code() != base::Code::kBusy) return opened;
    is_open_ = true;
    if (opened) return {};
    base::log::trace("usage: {} belongs to another process until that ends", path_);
    journal_.await_lock();
    return {};
}

// The last line of each row counts. What was counted before the file could be read is added to it. The newest days get
// the rows that there are.
void UsageFile::read(std::string_view text) {
    std::map<net::UsageKey, net::Usage> rows;
    std::string_view line;
    while (base::take_line(text, line)) {
        net::UsageKey key;
        net::Usage usage;
        if (!net::read_usage_line(line, key, usage))
            ++unreadable_lines_;
        else if (key.day >= ledger_.first_day())
            rows[std::move(key)] = std::move(usage);
    }
    whole_ = ledger_.size() > 0;
    for (auto& [key, usage] : std::views::reverse(rows)) {
        if (const net::Usage* counted = ledger_.find(key)) usage += *counted;
        ledger_.restore(key, std::move(usage));
    }
    if (unreadable_lines_ > 0)
        base::log::warn("usage: {} lines of {} cannot be read, and are left out", unreadable_lines_, path_);
}

void UsageFile::start() {
    if (!is_open_) return;
    task_ = runtime::spawn("usage", [this] {
        while (true) {
            static_cast<void>(stop_.wait(Deadline::in_ms(kSaveMs)));
            if (stop_.is_set() || runtime::cancelled()) return;
            static_cast<void>(save());  // what it could not is tried again
        }
    });
}

Result<void> UsageFile::save_changes() {
    std::string text;
    runtime::CpuSlice slice(16);
    for (const net::UsageKey& key : ledger_.take_changes()) {
        if (const net::Usage* usage = ledger_.find(key)) text += net::usage_line(key, *usage);
        if (text.size() >= kPieceBytes) {
            TRY(append(text));
            text.clear();
        }
        TRY(slice.step());
    }
    return append(text);
}

Result<void> UsageFile::save_all() {
    static_cast<void>(ledger_.take_changes());
    std::string text;
    runtime::CpuSlice slice(16);
    net::UsageKey last;
    for (const auto* row = ledger_.first(); row; row = ledger_.after(last)) {
        text += net::usage_line(row->first, row->second);
        last = row->first;
        if (text.size() >= kPieceBytes) {
            TRY(append(text));
            text.clear();
        }
        TRY(slice.step());
    }
    return append(text);
}

// Waits until the piece before is written: the journal refuses what is more than it may keep.
Result<void> UsageFile::append(std::string_view text) {
    if (text.empty()) return {};
    TRY(written_.wait(stop_.is_set() ? stop_until_ : Deadline::in_ms(kPieceMs)), "the disk is too slow");
    written_.reset();
    const uint64_t lost = journal_.lost();
    journal_.append(text, [this](bool is_written) {
        written_.set();
        if (is_written && !whole_ && error_.clear()) base::log::warn("usage: {} can be written again", path_);
    });
    if (journal_.lost() == lost) return {};
    return base::fail(base::Code::kLimit, path_ + " takes no more lines");
}

Result<void> UsageFile::save() {
    if (!is_open_) return {};
    auto saved = std::exchange(whole_, false) ? save_all() : save_changes();
    if (saved) return {};
    // The rows that were taken are written with the next save.
    whole_ = true;
    if (saved.error().code() != base::Code::kCancelled && error_.update(saved.error().text()))
        base::log::error("usage: {}; it is kept in memory meanwhile", saved.error().text());
    return saved;
}

void UsageFile::stop() {
    stop_until_ = Deadline::in_ms(kStopMs);
    stop_.set();
    if (task_) (void)task_.join(stop_until_);
    if (task_ && !task_.done()) task_.cancel_and_join();
    static_cast<void>(save());
    journal_.stop();
    is_open_ = false;
}

}  // namespace service::accounts
