#pragma once
// LockedText: a small file of the server itself that has one text, written anew whenever that changes. The file is
// locked: two servers never share one. All system calls run on a worker thread.

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "runtime/disk/blocking_file.h"

namespace runtime {

class LockedText {
  public:
    explicit LockedText(std::string path) : path_(std::move(path)) {}

    // Yields. Returns the text of an earlier run and locks the file if it exists. kLimit: it is too large. After an
    // error (locked by another server, no permission) nothing is written.
    base::Result<std::string> open(size_t max_bytes);
    // Yields. Writes the text if it has changed; the file is created with the first one that is not empty. After an
    // error, which is returned once, nothing is written any more.
    base::Result<void> keep(std::string text);
    // Another process may lock it now. The next call opens it again.
    void close();

  private:
    base::Result<void> run(std::move_only_function<base::Result<void>(BlockingFile&)> job);

    std::string path_;
    std::shared_ptr<BlockingFile> file_ = std::make_shared<BlockingFile>();  // of one job at a time, on a worker thread
    std::string written_;
    bool failed_ = false;
};

}  // namespace runtime
