#pragma once
// FileWatch reports by inotify that files may have changed. Files are replaced by renaming another over them, or are
// reached by symbolic links that are redirected, so their directories are watched too: next() returns for any change in
// there, and the caller checks the files. inotify does not see changes on network file systems, or in a directory that
// did not exist when watch() was called: the caller must also check the files from time to time.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/loop/deadline.h"

namespace runtime {

class FileWatch {
  public:
    virtual ~FileWatch() = default;
    // Watches these files, given by absolute path, instead of the previous ones. Blocks for some system calls; may be
    // called on a worker.
    virtual void watch(const std::vector<std::string>& paths) = 0;
    // Yields until there was a change; consumes all changes that have arrived.
    virtual base::Result<void> next(Deadline deadline) = 0;
};

base::Result<std::unique_ptr<FileWatch>> watch_files();

}  // namespace runtime
