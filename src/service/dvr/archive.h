#pragma once
// What all recordings share: the names in use, the journal, and the completion of a file on the disk's coroutine and
// worker threads: closing, finishing (finishing.h), notifying the rest of the server. Nothing here yields.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "live/hub/events.h"
#include "runtime/disk/disk.h"
#include "runtime/loop/log_limit.h"
#include "service/dvr/container.h"
#include "service/dvr/journal.h"
#include "service/dvr/naming.h"

namespace service::dvr {

struct Counters {
    uint64_t files_open = 0;  // being written
    uint64_t files_begun = 0;
    uint64_t files_done = 0;       // complete, including those ended by an error
    uint64_t files_failed = 0;     // ended by an error
    uint64_t files_recovered = 0;  // left by an earlier run and finished
    uint64_t frames = 0;           // recorded
    uint64_t frames_lost = 0;      // not recorded because there was no open file
    uint64_t refused = 0;          // recordings refused because of the stream's name
};

// A file that is being written.
struct OpenFile {
    OpenRecording names;
    std::string publisher;  // its session; may be empty
    std::unique_ptr<runtime::disk::AppendFile> file;
    std::unique_ptr<Container> container;
};

class Archive {
  public:
    Archive(Journal& journal, const live::Events& events) : journal_(journal), events_(events) {}
    Archive(const Archive&) = delete;

    // path: from recording_path; if that name is in use, a number is added. The file is created asynchronously: a
    // failure is reported by a later write.
    std::unique_ptr<OpenFile> begin(const live::StreamKey& key, const std::string& path,
                                    const ContainerOptions& options);
    // Completes the file asynchronously. whole: no error so far.
    void end(std::unique_ptr<OpenFile> file, bool whole);

    // Files of an earlier run: their names stay in use until the files are finished.
    void reserve(const OpenRecording& left) { names_.insert(left.growing); }
    void finish_left(const OpenRecording& left);
    // The file will not be finished; the reason has been logged. Its name stays in use.
    void forget(const OpenRecording& left);

    // Paths of files that are being written or completed.
    std::vector<std::string> growing_files() const { return {names_.begin(), names_.end()}; }
    // Number of files being completed.
    size_t ending() const { return ending_; }
    Counters& counters() { return counters_; }
    runtime::LogLimit& failure_log() { return failure_log_; }  // of all recordings
    void report_failed(const live::StreamKey& key, const std::string& path, const std::string& reason) const;
    void report_recovered(const live::StreamKey& key) const;

  private:
    struct Ending;
    void finish(std::shared_ptr<Ending> ending);
    void finished(const Ending& ending, const base::Result<void>& result);
    void release(const OpenRecording& names);

    Journal& journal_;
    const live::Events& events_;
    std::set<std::string> names_;  // paths of growing files
    size_t ending_ = 0;
    Counters counters_;
    runtime::LogLimit failure_log_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // late callbacks check whether the archive still
                                                                  // exists
};

}  // namespace service::dvr
