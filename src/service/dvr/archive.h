#pragma once
// What all recordings share: the names in use, the journal, and what happens when a file is complete, by the disk's
// coroutine and its workers: closing, finishing (finishing.h), telling the rest of the server. Nothing here yields.

#include <memory>
#include <set>
#include <string>

#include "live/hub/events.h"
#include "runtime/disk/disk.h"
#include "service/dvr/container.h"
#include "service/dvr/journal.h"
#include "service/dvr/naming.h"

namespace service::dvr {

struct Counters {
    uint64_t files_open = 0;  // growing
    uint64_t files_begun = 0;
    uint64_t files_done = 0;       // complete, those after an error too
    uint64_t files_failed = 0;     // ended by an error
    uint64_t files_recovered = 0;  // of an earlier run
    uint64_t frames = 0;           // recorded
    uint64_t frames_lost = 0;      // not, because there was no file to take them
    uint64_t refused = 0;          // recordings, by the stream's name
};

// A file that grows.
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

    // path: as recording_path made it; where that name is in use, a number is put to it. The file is made behind the
    // scenes: that it could not be is told by a later write.
    std::unique_ptr<OpenFile> begin(const live::StreamKey& key, const std::string& path,
                                    const ContainerOptions& options);
    // Completes it. whole: no error so far.
    void end(std::unique_ptr<OpenFile> file, bool whole);

    // Files of an earlier run: their names are taken until they are finished.
    void reserve(const OpenRecording& left) { names_.insert(left.growing); }
    void finish_left(const OpenRecording& left);
    // It will not be finished: the reason stands in the log. Its name stays taken.
    void forget(const OpenRecording& left);

    // Files that are being completed.
    size_t ending() const { return ending_; }
    Counters& counters() { return counters_; }
    void tell_failed(const live::StreamKey& key, const std::string& path, const std::string& reason) const;

  private:
    struct Ending;
    void finish(std::shared_ptr<Ending> ending);
    void finished(const Ending& ending, const base::Result<void>& result);
    void release(const OpenRecording& names);

    Journal& journal_;
    const live::Events& events_;
    std::set<std::string> names_;  // growing paths
    size_t ending_ = 0;
    Counters counters_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // what comes back later asks for it
};

}  // namespace service::dvr
