#pragma once
// The journal of open recordings: a small text file with one line when a recording begins and one when it is complete,
// so that the next start knows what a crash left without searching directories. A coroutine writes it through worker
// threads; a line is being written within milliseconds. Locked: two servers never share one.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"
#include "service/dvr/journal_text.h"

namespace service::dvr {

class Journal {
  public:
    explicit Journal(std::string path) : path_(std::move(path)) {}
    ~Journal();
    Journal(const Journal&) = delete;

    // Whether an earlier run left one. Yields.
    bool exists() const;
    // Locks it, reads which recordings an earlier run left open, and rewrites it with only those. Yields. If it is not
    // called, the journal is opened at the first line. After an error (locked by another server, no permission)
    // recordings continue, but the next start does not finish those that a crash leaves.
    base::Result<std::vector<OpenRecording>> open();
    // written: called once, when the line is in the file or cannot get there; now or later. It must not yield.
    using Written = std::move_only_function<void()>;
    void opened(const OpenRecording& recording, Written written = nullptr);
    void done(const std::string& growing);
    // Writes the pending lines and ends. Yields.
    void stop();

  private:
    struct Disk;
    void add(std::string line, Written written = nullptr);
    void run();
    base::Result<void> write(std::string lines);

    std::string path_;
    std::shared_ptr<Disk> disk_;
    bool failed_ = false;
    bool stopping_ = false;
    std::string pending_;
    std::vector<Written> waiting_;     // for the pending lines
    std::vector<OpenRecording> open_;  // contents of the journal, for rewriting it
    size_t written_ = 0;               // bytes since the last rewrite
    runtime::Event changed_{"lines for the journal"};
    runtime::Task writer_;
};

}  // namespace service::dvr
