#include "runtime/disk_pool.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace runtime::disk {

DiskPool::DiskPool() { CHECK(sem_init(&submitted_, 0, 0) == 0); }
DiskPool::~DiskPool() { sem_destroy(&submitted_); }

base::Result<void> DiskPool::start() {
    wake_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wake_fd_ < 0) return base::fail_errno("eventfd", errno);
    TRY(wake_.open(wake_fd_, EPOLLIN));
    wake_.park(*this);
    // Signals are for the loop's thread.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (auto& thread : threads_) {
        thread = std::thread([this] { run(); });
        pthread_setname_np(thread.native_handle(), "disk");
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return {};
}

void DiskPool::stop() {
    {
        std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    for (size_t i = 0; i < kThreads; ++i) sem_post(&submitted_);
    for (auto& thread : threads_) {
        if (thread.joinable()) thread.join();
    }
    on_readable();
    wake_.close();
}

void DiskPool::submit(std::unique_ptr<DiskJob> job) {
    {
        std::lock_guard lock(mutex_);
        (job->is_long ? long_ : short_).push_back(std::move(job));
    }
    sem_post(&submitted_);
}

void DiskPool::defer(std::move_only_function<void()> call) {
    if (deferred_.empty()) wake_.post_readable();
    deferred_.push_back(std::move(call));
}

std::unique_ptr<DiskJob> DiskPool::take() {
    const bool from_long = short_.empty();
    auto& queue = from_long ? long_ : short_;
    auto job = std::move(queue.front());
    queue.pop_front();
    if (from_long) long_runs_ = true;
    return job;
}

void DiskPool::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        // Whoever is done looks again before it waits: another's job may have been left for it.
        if (!has_work()) {
            if (stopping_) return;
            lock.unlock();
            while (sem_wait(&submitted_) != 0) continue;  // EINTR
            lock.lock();
            continue;
        }
        auto job = take();
        lock.unlock();
        job->work();
        lock.lock();
        if (job->is_long) long_runs_ = false;
        const bool first = finished_.empty();
        finished_.push_back(std::move(job));
        if (!first) continue;
        const uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof one);
    }
}

void DiskPool::on_readable() {
    uint64_t count;
    [[maybe_unused]] const ssize_t got = read(wake_fd_, &count, sizeof count);
    std::vector<std::unique_ptr<DiskJob>> finished;
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

}  // namespace runtime::disk
