#pragma once
// Internal to the disk. What all files share: settings, the worker threads, the buffers, the order of paths, counters,
// injected faults.

#include <sys/uio.h>

#include <array>
#include <initializer_list>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "runtime/disk/disk.h"
#include "runtime/disk/disk_buffers.h"
#include "runtime/disk/disk_paths.h"
#include "runtime/loop/deadline.h"
#include "runtime/loop/timers.h"
#include "runtime/threads/thread_pool.h"

namespace runtime::disk {

// One write, of several buffers. It is a member of its File, which lives until the write is done.
struct Write {
    static constexpr size_t kMaxParts = 16;
    int fd = -1;
    unsigned count = 0;
    std::array<iovec, kMaxParts> parts{};
    uint64_t offset = 0;
};

enum class Step : uint8_t { kOpen, kWrite, kClose, kRead };

class Engine {
  public:
    base::Result<void> start(const Settings& settings);
    void stop();
    void change(const Settings& settings);

    const Settings& settings() const { return settings_; }

    // A job on a worker, after an injected fault for its steps; `work` returns 0 or an errno.
    void run_step(std::initializer_list<Step> steps, const std::string& path, std::move_only_function<int()> work,
                  std::move_only_function<void(int)> done);
    void run_long(std::move_only_function<void()> work, std::move_only_function<void()> done);
    // Calls file->on_written() later, with the bytes written, perhaps fewer than asked, or -errno.
    void write(const std::shared_ptr<File>& file, Write& write);
    void defer(std::move_only_function<void()> call) { pool_.defer(std::move(call)); }
    // An operation takes long: logs a rate-limited warning.
    void warn_slow(const std::string& path, const char* what, int64_t ms);
    void count_error(const base::Error& error, bool dropped);
    // Waits until no operation is in progress.
    base::Result<void> drain(Deadline deadline);
    Status status() const;
    void set_fault(std::unique_ptr<Fault> fault) { fault_ = std::move(fault); }
    ReadFault read_fault(const std::string& path);

    BufferPool buffers;
    PathOrder paths;
    // Counters that files and operations maintain.
    uint64_t files_open = 0;
    uint64_t operations = 0;
    uint64_t queued_bytes = 0;
    uint64_t bytes_written = 0;
    uint64_t writes = 0;

  private:
    // A call that an injected fault delays.
    struct Late final : Timer {
        void on_due() override;
        std::list<Late>* all = nullptr;
        std::list<Late>::iterator self;
        std::move_only_function<void()> go;
    };
    const Fault* fault_of(Step step, const std::string& path, uint64_t offset);
    void later(int64_t delay_ms, std::move_only_function<void()> go);
    void check_fault_file();

    Settings settings_;
    static constexpr size_t kThreads = 2;
    detail::ThreadPool pool_{"disk", kThreads};
    std::list<Late> late_;
    std::unique_ptr<Fault> fault_;
    std::string fault_file_;
    int64_t fault_checked_ms_ = 0;
    int64_t warned_ms_ = 0;
    uint64_t slow_warnings_ = 0;
    uint64_t files_failed_ = 0;
    uint64_t files_dropped_ = 0;
    std::string last_error_;
};

// Starts the engine with the defaults if it was not started.
Engine& engine();

// For workers, as they block; 0 or errno. The first: mkdir -p of the part before the last slash.
int make_directories_for(const std::string& path);
int rename_file(const std::string& from, const std::string& to);

}  // namespace runtime::disk
