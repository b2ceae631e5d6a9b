#pragma once
// FileSource: an open file whose bytes are sent. It tells what of them is in the page cache, because the loop must not
// wait for a disk: only that much is read or sent on the loop, and a worker fetches the rest. Made on a worker; all
// other functions are called on the loop.
//
// Whether a page can be taken without waiting is asked in two ways. resident() asks mincore(), which counts pages that
// are being read from the disk as absent, for sendfile(), which has no such mode. read_now() reads with RWF_NOWAIT.
// Small files that are in memory when they are opened are locked there as long as they are open, so that nothing has to
// be asked.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/loop/deadline.h"
#include "runtime/loop/sync.h"

namespace runtime::disk {

class FileSource {
  public:
    // The most that resident() reports at once, in bytes.
    static constexpr size_t kMaxResident = 256 * 1024;

    // Takes the descriptor of a regular file that has `size` bytes. path: for injected faults. Blocks.
    FileSource(int fd, uint64_t size, std::string path);
    // Takes a file that is always in memory (memfd). Does not block.
    struct InMemory {};
    FileSource(InMemory, int fd);
    FileSource(const FileSource&) = delete;

    int fd() const { return file_->fd; }

    // Whether the file system can tell what is in memory, and reports attributes without waiting. If not, only read()
    // works.
    bool reads_now() const { return reads_now_; }
    // Whether resident() knows anything: the kernel tells only an owner, or who may write the file.
    bool sends_now() const { return in_memory_ || file_->mapping != nullptr; }
    // The number of bytes from the offset on, `bytes` at most, that sendfile() can send now.
    size_t resident(uint64_t offset, size_t bytes) const;
    // Whether all of it stays in memory as long as this lives, unless the file is cut.
    bool is_locked() const { return file_->locked; }
    // Reads what is in memory. 0: nothing is, or the file ends there.
    size_t read_now(std::span<uint8_t> buffer, uint64_t offset) const;

    // Yields. Has a worker bring the bytes around the offset into the page cache. Callers that want the same bytes
    // share one job.
    base::Result<void> load(uint64_t offset, Deadline deadline);
    // Yields. A worker reads `bytes` bytes, less at the file's end.
    base::Result<std::vector<uint8_t>> read(uint64_t offset, size_t bytes, Deadline deadline) const;

  private:
    bool is_all_resident() const;

    static constexpr uint64_t kBlockBytes = 256 * 1024;

    // Jobs hold it too, so that no descriptor is closed under them. The last holder, always on the loop, has a worker
    // close it, because that may free the blocks of a removed file.
    struct File {
        int fd;
        void* mapping = nullptr;  // never read: mincore() wants one
        size_t mapped = 0;
        bool locked = false;
        explicit File(int descriptor) : fd(descriptor) {}
        File(const File&) = delete;
        ~File();
    };

    struct Loading {
        Event ended{"a worker that reads a file"};
        bool is_loaded = false;  // once it has ended
    };

    const std::shared_ptr<File> file_;
    const std::string path_;
    bool reads_now_ = false;
    bool in_memory_ = false;
    std::map<uint64_t, std::shared_ptr<Loading>> loading_;  // by block
};

}  // namespace runtime::disk
