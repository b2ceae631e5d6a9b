#pragma once
// MasterFile: the multivariant playlist on disk, for those who serve the directory by other means.

#include <memory>
#include <string>

namespace service::hls {

class MasterFile {
  public:
    // path: with its directory. owner: the stream, as runtime/disk/file_owner.h has it.
    MasterFile(std::string path, std::string owner) : path_(std::move(path)), owner_(std::move(owner)) {}

    // An earlier run has left one.
    void found();
    // Writes it if it is another text; an empty one removes it.
    void set(const std::string& text);
    // If it could not be written, the next set() tries it again.
    void retry();

  private:
    const std::string path_;
    const std::string owner_;
    std::string text_;  // of the file; empty: there is none
    // Shared with an operation in progress.
    std::shared_ptr<bool> failed_ = std::make_shared<bool>(false);
};

}  // namespace service::hls
