#pragma once
// FileWatch: that something may have happened to files, by inotify. Files are replaced by renaming another over them,
// or reached by links that are turned, so their directories are watched too: next() returns for any change in there,
// and the caller looks at the files. What inotify does not see (network file systems, a directory that was not there
// when watch() was called) the caller finds by looking now and then.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/loop/deadline.h"

namespace runtime {

class FileWatch {
  public:
    virtual ~FileWatch() = default;
    // These files, by absolute path, and no others any more. Blocks for some system calls; may be called on a worker.
    virtual void watch(const std::vector<std::string>& paths) = 0;
    // Yields until there was a change; takes all that came so far together.
    virtual base::Result<void> next(Deadline deadline) = 0;
};

base::Result<std::unique_ptr<FileWatch>> watch_files();

}  // namespace runtime
