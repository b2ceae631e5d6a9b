#pragma once
// The journal of open recordings: a small text file, one line when a recording begins and one when it is complete, so
// that the next start knows what a crash left without searching directories. Written by a coroutine by way of the
// worker threads; a line is on its way within milliseconds. Locked: two servers never share one.

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

    // Whether there is one from an earlier run. Yields.
    bool exists() const;
    // Locks it, reads what an earlier run left open, and begins it anew with just that. Yields. Without it the journal
    // is opened at the first line. An error (another server has it, no permission): recordings go on, but what a crash
    // leaves of them is not finished by the next start.
    base::Result<std::vector<OpenRecording>> open();
    void opened(const OpenRecording& recording);
    void done(const std::string& growing);
    // Writes what is pending and ends. Yields.
    void stop();

  private:
    struct Disk;
    void add(std::string line);
    void run();
    base::Result<void> write(std::string lines);

    std::string path_;
    std::shared_ptr<Disk> disk_;
    bool failed_ = false;
    bool stopping_ = false;
    std::string pending_;
    std::vector<OpenRecording> open_;  // as the journal has them: for writing it anew
    size_t written_ = 0;               // bytes since then
    runtime::Event changed_{"lines for the journal"};
    runtime::Task writer_;
};

}  // namespace service::dvr
