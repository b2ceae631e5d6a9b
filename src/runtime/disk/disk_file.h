#pragma once
// Internal to the disk. The state of a growing file: the buffer that is being filled, the buffers that wait, the one
// write in progress, and the end. At most one operation is in progress, so a file's operations are always in order.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/disk/disk_closing.h"
#include "runtime/disk/disk_engine.h"

namespace runtime::disk {

class File final : public std::enable_shared_from_this<File>, private Timer {
  public:
    File(Engine& engine, std::string path, const AppendOptions& options);
    File(const File&) = delete;
    ~File();
    void begin();
    void release();

    base::Result<void> append(std::span<const uint8_t> bytes);
    base::Result<void> overwrite(uint64_t offset, std::span<const uint8_t> bytes);
    // Only the first call counts.
    void end(End how, std::string rename_to, Done done);

    uint64_t size() const { return size_; }
    uint64_t written() const { return written_; }
    size_t buffer_bytes() const { return buffer_bytes_; }
    const base::Error* error() const { return error_ ? &*error_ : nullptr; }
    const std::string& path() const { return path_; }

    // Result: the bytes written, or -errno.
    void on_written(int result);

  private:
    struct Piece {
        Buffer buffer;
        size_t used = 0;
        uint64_t offset = 0;  // in the file
    };

    void on_due() override;
    // Writes what has waited for flush_ms. Returns when to be called again, ms from now; 0: not any more.
    int64_t flush();
    int64_t flush_ms() const;
    void open();
    void on_opened(int error);
    void begin_piece();
    void queue_piece(bool is_flush);
    void choose_size(bool is_flush, size_t used);
    void pump();
    void drop_pieces();
    void fail(base::Error error);
    void maybe_close();
    void on_closed(Closing& closing, int error);
    base::Error copy_error() const;

    Engine& engine_;
    std::string path_;
    AppendOptions options_;
    std::string context_id_;
    int fd_ = -1;
    bool unopened_ = true;  // opened when there is something to write
    bool opening_ = false;
    bool busy_ = false;                          // a write is in progress
    bool closing_ = false;                       // the closing job was started
    int64_t held_until_ms_ = 0;                  // 0: not held
    std::move_only_function<void()> held_open_;  // when it was to be opened while it was held
    Piece current_;                              // being filled; none without a buffer
    size_t buffer_bytes_;
    int64_t piece_began_ms_ = 0;
    int64_t busy_since_ms_ = 0;
    std::deque<Piece> pieces_;  // the first may be in progress
    size_t queued_ = 0;         // bytes of their buffers
    size_t head_done_ = 0;      // bytes of the first that a short write has written
    Write write_;
    uint64_t size_ = 0;
    uint64_t written_ = 0;
    std::vector<Patch> patches_;
    size_t patch_bytes_ = 0;
    std::optional<base::Error> error_;
    std::optional<End> end_;
    std::string rename_to_;
    Done done_;
    std::shared_ptr<PathOperation> end_operation_;
    bool end_may_run_ = false;
};

}  // namespace runtime::disk
