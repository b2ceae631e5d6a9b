#pragma once
// Internal to the disk. The state of a file that grows: the buffer that is being filled, those that wait, the one write
// under way, and the end. At most one operation is under way, so a file's operations are in order by themselves.

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/disk/disk_closing.h"
#include "runtime/disk/disk_engine.h"

namespace runtime::disk {

class File : public std::enable_shared_from_this<File> {
  public:
    File(Engine& engine, std::string path, const AppendOptions& options);
    File(const File&) = delete;
    ~File();
    void begin();

    base::Result<void> append(std::span<const uint8_t> bytes);
    base::Result<void> overwrite(uint64_t offset, std::span<const uint8_t> bytes);
    // Only the first counts.
    void end(End how, std::string rename_to, Done done);

    uint64_t size() const { return size_; }
    uint64_t written() const { return written_; }
    size_t buffer_bytes() const { return buffer_bytes_; }
    const base::Error* error() const { return error_ ? &*error_ : nullptr; }
    const std::string& path() const { return path_; }

    // With the bytes written, or -errno.
    void on_written(int result);
    // When to be asked again, ms from now; 0: no more.
    int64_t on_flush_tick();
    int64_t flush_ms() const;

  private:
    struct Piece {
        Buffer buffer;
        size_t used = 0;      // of the file's bytes
        size_t submit = 0;    // used, padded to whole blocks where that must be
        uint64_t offset = 0;  // in the file
    };

    void open();
    void on_opened(int error);
    void begin_piece();
    void hand_over(bool is_flush);
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
    bool direct_ = false;   // opened with O_DIRECT
    bool unopened_ = true;  // it will be opened when there is something to write
    bool opening_ = false;
    bool busy_ = false;     // a write is under way
    bool closing_ = false;  // the closing job was started
    Piece current_;         // being filled; without a buffer: none
    size_t clean_ = 0;      // bytes of current_ that were written already
    size_t buffer_bytes_;
    int64_t piece_began_ms_ = 0;
    int64_t busy_since_ms_ = 0;
    std::deque<Piece> pieces_;  // the first may be under way
    size_t queued_ = 0;         // bytes of their buffers
    size_t head_done_ = 0;      // bytes of the first that were written by a write that fell short
    Write write_;
    uint64_t size_ = 0;
    uint64_t written_ = 0;
    std::vector<Patch> patches_;
    size_t patch_bytes_ = 0;
    std::optional<base::Error> error_;
    std::optional<End> end_;
    std::string rename_to_;
    Done done_;
    std::shared_ptr<Turn> end_turn_;
    bool end_turn_came_ = false;
};

}  // namespace runtime::disk
