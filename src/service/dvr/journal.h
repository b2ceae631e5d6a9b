#pragma once
// The journal of open recordings: a small text file with one line when a recording begins and one when it is complete,
// so that the next start knows what a crash left without searching directories (runtime/disk/line_journal.h).

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/disk/line_journal.h"
#include "runtime/loop/log_limit.h"
#include "service/dvr/journal_text.h"

namespace service::dvr {

class Journal {
  public:
    using Written = std::move_only_function<void()>;

    explicit Journal(std::string path);
    Journal(const Journal&) = delete;

    // Whether an earlier run left one. Yields.
    bool exists() const { return file_.exists(); }
    // Locks it, reads which recordings an earlier run left open, and has it replaced by one with only those. Yields. If
    // it is not called, the journal is opened at the first line. After an error (locked by another server, no
    // permission) recordings continue, but the next start does not finish those that a crash leaves.
    base::Result<std::vector<OpenRecording>> open();
    // In place of open(), where another process of this server has it until it ends.
    void await_lock() { file_.await_lock(); }
    // written: called once, when the line is in the file or cannot get there; now or later. It must not yield.
    void opened(const OpenRecording& recording, Written written = nullptr);
    void done(const std::string& growing);
    // Writes the pending lines and ends. Yields.
    void stop() { file_.stop(); }

  private:
    std::vector<OpenRecording> open_;  // after all lines, those that wait for the disk included
    std::vector<OpenRecording> left_;  // by an earlier run
    runtime::LogLimit failure_log_;
    runtime::LineJournal file_;
};

}  // namespace service::dvr
