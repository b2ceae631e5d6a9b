#pragma once
// StreamList: which streams have HLS files on disk, in a small file, so that the next run knows what this one left
// there and can dispose of it in time. The file is locked: two servers never share one. Every call to the system is a
// worker's.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/hls/stream_list_text.h"

namespace service::hls {

class StreamList {
  public:
    explicit StreamList(std::string path) : path_(std::move(path)) {}

    // Yields. What an earlier run left; locks the file where there is one. An error (another server has it, no
    // permission): what this run leaves is not disposed of by the next.
    base::Result<std::vector<live::StreamKey>> open();
    // Yields. Writes it anew, if it is another than before; the first stream makes the file.
    void keep(const std::vector<live::StreamKey>& streams);

  private:
    struct File;
    base::Result<void> run(std::move_only_function<base::Result<void>(File&)> job);

    std::string path_;
    std::shared_ptr<File> file_;
    std::string written_;
    bool failed_ = false;
};

}  // namespace service::hls
