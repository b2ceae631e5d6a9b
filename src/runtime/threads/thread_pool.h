#pragma once
// Internal. Threads for jobs that may block or take long, begun in the order in which they came; of long ones one at a
// time, so that a thread is left for the others. What a job owns is released on the loop's thread.

#include <pthread.h>
#include <semaphore.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "runtime/loop/reactor.h"

namespace runtime::detail {

struct ThreadJob {
    std::move_only_function<void()> work;  // on a worker
    std::move_only_function<void()> done;  // on the loop; must not yield
    bool is_long = false;
    int result = 0;  // for whoever needs one
};

class ThreadPool final : public ParkedHandler {
  public:
    // name: of the threads, for ps.
    ThreadPool(const char* name, size_t threads);
    ~ThreadPool();  // stops
    // An error: no thread can be had.
    base::Result<void> start();
    // What was asked for is done, and told, before it returns: also what those who are told ask for then. Does not
    // yield.
    void stop();
    void submit(std::unique_ptr<ThreadJob> job);
    // Calls it soon, from the loop.
    void defer(std::move_only_function<void()> call);

    void on_readable() override;
    void on_writable() override {}
    void on_hangup() override {}

  private:
    base::Result<void> start_threads();
    void run();
    bool run_next(std::unique_lock<std::mutex>& lock);
    bool has_work() const { return !short_.empty() || (!long_.empty() && !long_runs_); }
    std::unique_ptr<ThreadJob> take();

    std::mutex mutex_;
    // One for each job. Not a condition: to signal that may wait for a waiter which has no processor.
    sem_t submitted_;
    std::deque<std::unique_ptr<ThreadJob>> short_;
    std::deque<std::unique_ptr<ThreadJob>> long_;
    bool long_runs_ = false;
    bool stopping_ = false;
    std::vector<std::unique_ptr<ThreadJob>> finished_;
    std::vector<std::move_only_function<void()>> deferred_;  // the loop's alone
    Watch wake_;
    int wake_fd_ = -1;
    const char* name_;
    const size_t wanted_;
    std::vector<pthread_t> threads_;  // that run
};

// Starts the pool, unless it is there. It is the caller's to stop: exit() leaves it and its threads alone.
base::Result<void> start_pool(ThreadPool*& pool, const char* name, size_t threads);
void stop_pool(ThreadPool*& pool);

}  // namespace runtime::detail
