#include "runtime/workers.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/log.h"
#include "runtime/reactor.h"
#include "runtime/services.h"
#include "runtime/sync.h"

namespace runtime {
namespace detail {
namespace {

constexpr size_t kQueueBound = 1024;
constexpr size_t kThreads = 2;

struct Job {
    std::move_only_function<void()> body;
    Event finished{"a worker"};  // the loop's alone
};

// The only place of the server with threads of its own beside the log, and so the only one with a lock.
class Workers final : public ParkedHandler {
  public:
    base::Result<void> start();
    void stop();
    base::Result<std::shared_ptr<Job>> submit(std::move_only_function<void()> body);

    void on_readable() override;
    void on_writable() override {}
    void on_hangup() override {}

  private:
    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<Job>> waiting_;
    std::vector<std::shared_ptr<Job>> finished_;
    bool stopping_ = false;
    Watch wake_;
    int wake_fd_ = -1;
    std::array<std::thread, kThreads> threads_;
};

Workers* workers = nullptr;  // owned; exit() leaves it and its threads alone

base::Result<void> Workers::start() {
    wake_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wake_fd_ < 0) return base::fail_errno("eventfd", errno);
    TRY(wake_.open(wake_fd_, EPOLLIN));
    wake_.park(*this);
    // Signals are for the loop's thread.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (auto& thread : threads_) thread = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return {};
}

void Workers::stop() {
    {
        std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) {
        if (thread.joinable()) thread.join();
    }
    on_readable();
    wake_.close();
}

base::Result<std::shared_ptr<Job>> Workers::submit(std::move_only_function<void()> body) {
    auto job = std::make_shared<Job>();
    job->body = std::move(body);
    {
        std::lock_guard lock(mutex_);
        if (waiting_.size() >= kQueueBound) {
            return base::fail(base::Code::kLimit, fmt::format("{} jobs are waiting for a worker", waiting_.size()));
        }
        waiting_.push_back(job);
    }
    changed_.notify_one();
    return job;
}

void Workers::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (waiting_.empty()) return;  // what was asked for is done even when we stop
        auto job = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        job->body();
        job->body = nullptr;
        lock.lock();
        finished_.push_back(std::move(job));
        const uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof one);
    }
}

void Workers::on_readable() {
    uint64_t count;
    [[maybe_unused]] const ssize_t got = read(wake_fd_, &count, sizeof count);
    std::vector<std::shared_ptr<Job>> finished;
    {
        std::lock_guard lock(mutex_);
        finished.swap(finished_);
    }
    for (auto& job : finished) job->finished.set();
}

}  // namespace

void stop_workers() {
    if (!workers) return;
    workers->stop();
    std::unique_ptr<Workers>(std::exchange(workers, nullptr)).reset();
}

}  // namespace detail

base::Result<void> offload(std::move_only_function<void()> job, Deadline deadline) {
    TRY(detail::check_cancelled());
    if (!detail::workers) {
        auto fresh = std::make_unique<detail::Workers>();
        TRY(fresh->start());
        detail::workers = fresh.release();
    }
    const auto submitted = TRY(detail::workers->submit(std::move(job)));
    return submitted->finished.wait(deadline);
}

}  // namespace runtime
