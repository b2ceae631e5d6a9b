#pragma once
// StreamList: a small file that lists the streams with HLS files on disk, so that the next run knows what this one left
// and can dispose of it in time. The file is locked: two servers never share one. All system calls run on a worker
// thread.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/disk/blocking_file.h"
#include "service/hls/playlists/stream_list_text.h"

namespace service::hls {

class StreamList {
  public:
    explicit StreamList(std::string path) : path_(std::move(path)) {}

    // Yields. Returns the list of an earlier run and locks the file if it exists. After an error (locked by another
    // server, no permission) the next run will not dispose of this run's files.
    base::Result<std::vector<live::StreamKey>> open();
    // Yields. Rewrites the file if the list has changed; it is created with the first stream.
    void keep(const std::vector<live::StreamKey>& streams);

  private:
    base::Result<void> run(std::move_only_function<base::Result<void>(runtime::BlockingFile&)> job);

    std::string path_;
    std::shared_ptr<runtime::BlockingFile> file_;  // of one job at a time, on a worker thread
    std::string written_;
    bool failed_ = false;
};

}  // namespace service::hls
