#pragma once
// Internal. Threads for jobs that may block or take long. Jobs begin in the order of submission; only one long job runs
// at a time, so that a thread remains for the others. What a job owns is released on the loop's thread.

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
    int result = 0;  // set by the job, if it needs one
};

class ThreadPool final : public ParkedHandler {
  public:
    // name: the threads' name, as shown by ps.
    ThreadPool(const char* name, size_t threads);
    ~ThreadPool();  // calls stop()
    // Fails when no thread can be started.
    base::Result<void> start();
    // Before it returns all submitted jobs have run and their `done` was called, including jobs submitted by those
    // calls. Does not yield.
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
    // Posted once for each job. Not a condition variable: signalling one may block until a preempted waiter runs.
    sem_t submitted_;
    std::deque<std::unique_ptr<ThreadJob>> short_;
    std::deque<std::unique_ptr<ThreadJob>> long_;
    bool long_runs_ = false;
    bool stopping_ = false;
    std::vector<std::unique_ptr<ThreadJob>> finished_;
    std::vector<std::move_only_function<void()>> deferred_;  // used by the loop only
    Watch wake_;
    int wake_fd_ = -1;
    const char* name_;
    const size_t wanted_;
    std::vector<pthread_t> threads_;  // running threads
};

// Starts the pool if it does not exist. The caller must stop it: exit() does not stop it or its threads.
base::Result<void> start_pool(ThreadPool*& pool, const char* name, size_t threads);
void stop_pool(ThreadPool*& pool);

}  // namespace runtime::detail
