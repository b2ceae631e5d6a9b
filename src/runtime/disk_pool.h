#pragma once
// Internal to the disk. Two worker threads for jobs that may block, in the order in which they came; of long ones one
// at a time, so that a thread is left for the others. What a job owns is released on the loop's thread.

#include <semaphore.h>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "runtime/reactor.h"

namespace runtime::disk {

struct DiskJob {
    std::move_only_function<void()> work;  // on a worker
    std::move_only_function<void()> done;  // on the loop; must not yield
    bool is_long = false;
    int result = 0;  // for whoever needs one
};

class DiskPool final : public ParkedHandler {
  public:
    static constexpr size_t kThreads = 2;

    DiskPool();
    ~DiskPool();
    base::Result<void> start();
    // What was asked for is done, and told, before it returns. Does not yield.
    void stop();
    void submit(std::unique_ptr<DiskJob> job);
    // Calls it soon, from the loop.
    void defer(std::move_only_function<void()> call);

    void on_readable() override;
    void on_writable() override {}
    void on_hangup() override {}

  private:
    void run();
    bool has_work() const { return !short_.empty() || (!long_.empty() && !long_runs_); }
    std::unique_ptr<DiskJob> take();

    std::mutex mutex_;
    // One for each job. Not a condition: to signal that may wait for a waiter which has no processor.
    sem_t submitted_;
    std::deque<std::unique_ptr<DiskJob>> short_;
    std::deque<std::unique_ptr<DiskJob>> long_;
    bool long_runs_ = false;
    bool stopping_ = false;
    std::vector<std::unique_ptr<DiskJob>> finished_;
    std::vector<std::move_only_function<void()>> deferred_;  // the loop's alone
    detail::Watch wake_;
    int wake_fd_ = -1;
    std::array<std::thread, kThreads> threads_;
};

}  // namespace runtime::disk
