#include "runtime/threads/thread_pool.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace runtime::detail {

ThreadPool::ThreadPool(const char* name, size_t threads) : name_(name), wanted_(threads) {
    CHECK(sem_init(&submitted_, 0, 0) == 0);
}

ThreadPool::~ThreadPool() {
    stop();
    sem_destroy(&submitted_);
}

base::Result<void> ThreadPool::start() {
    wake_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wake_fd_ < 0) return base::fail_errno("eventfd", errno);
    TRY(wake_.open(wake_fd_, EPOLLIN));
    wake_.park(*this);
    // Signals are to be delivered to the loop's thread.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    auto started = start_threads();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
}

// Not std::thread: it throws when no thread can be started, which here ends the process.
base::Result<void> ThreadPool::start_threads() {
    const auto body = [](void* self) -> void* {
        static_cast<ThreadPool*>(self)->run();
        return nullptr;
    };
    for (size_t i = 0; i < wanted_; ++i) {
        pthread_t thread;
        if (const int error = pthread_create(&thread, nullptr, body, this)) {
            return base::fail_errno("starting a thread", error);
        }
        pthread_setname_np(thread, name_);
        threads_.push_back(thread);
    }
    return {};
}

void ThreadPool::stop() {
    if (wake_.fd() < 0) return;  // it is not running
    {
        std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    for (size_t i = 0; i < threads_.size(); ++i) sem_post(&submitted_);
    for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
    threads_.clear();
    while (true) {
        on_readable();
        std::unique_lock lock(mutex_);
        if (deferred_.empty() && !run_next(lock)) break;
    }
    wake_.close();
}

void ThreadPool::submit(std::unique_ptr<ThreadJob> job) {
    {
        std::lock_guard lock(mutex_);
        (job->is_long ? long_ : short_).push_back(std::move(job));
    }
    sem_post(&submitted_);
}

void ThreadPool::defer(std::move_only_function<void()> call) {
    if (deferred_.empty()) wake_.post_readable();
    deferred_.push_back(std::move(call));
}

std::unique_ptr<ThreadJob> ThreadPool::take() {
    const bool from_long = short_.empty();
    auto& queue = from_long ? long_ : short_;
    auto job = std::move(queue.front());
    queue.pop_front();
    if (from_long) long_runs_ = true;
    return job;
}

// False: there was no job.
bool ThreadPool::run_next(std::unique_lock<std::mutex>& lock) {
    if (!has_work()) return false;
    auto job = take();
    lock.unlock();
    job->work();
    lock.lock();
    if (job->is_long) long_runs_ = false;
    const bool first = finished_.empty();
    finished_.push_back(std::move(job));
    if (!first) return true;
    // The loop is woken, and takes the lock: it would wait for a holder that does not run.
    lock.unlock();
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof one);
    lock.lock();
    return true;
}

void ThreadPool::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        // A worker checks for more work before it waits: a job may have been left while a long one ran.
        if (run_next(lock)) continue;
        if (stopping_) return;
        lock.unlock();
        while (sem_wait(&submitted_) != 0) continue;  // EINTR
        lock.lock();
    }
}

void ThreadPool::on_readable() {
    uint64_t count;
    [[maybe_unused]] const ssize_t got = read(wake_fd_, &count, sizeof count);
    std::vector<std::unique_ptr<ThreadJob>> finished;
    {
        std::lock_guard lock(mutex_);
        finished.swap(finished_);
    }
    for (auto& job : finished) {
        job->done();
        job.reset();
    }
    for (auto& call : std::exchange(deferred_, {})) call();
}

base::Result<void> start_pool(ThreadPool*& pool, const char* name, size_t threads) {
    if (pool) return {};
    auto fresh = std::make_unique<ThreadPool>(name, threads);
    TRY(fresh->start());
    pool = fresh.release();
    return {};
}

void stop_pool(ThreadPool*& pool) {
    if (!pool) return;
    pool->stop();
    std::unique_ptr<ThreadPool>(std::exchange(pool, nullptr)).reset();
}

}  // namespace runtime::detail
