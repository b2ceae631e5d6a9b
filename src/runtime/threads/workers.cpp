#include "runtime/threads/workers.h"

#include <memory>
#include <utility>

#include "runtime/loop/services.h"
#include "runtime/loop/sync.h"
#include "runtime/threads/thread_pool.h"

namespace runtime {
namespace detail {
namespace {

constexpr size_t kThreads = 2;
constexpr size_t kMaxUnderWay = 1024 + kThreads;  // jobs that may wait in addition to those that run

ThreadPool* workers = nullptr;
size_t jobs = 0;  // pending or running

}  // namespace

}  // namespace detail

base::Result<void> offload(std::move_only_function<void()> job, Deadline deadline) {
    TRY(detail::check_cancelled());
    TRY(detail::start_pool(detail::workers, "worker", detail::kThreads));
    detail::stop_at_shutdown(detail::Service::kWorkers, [] { detail::stop_pool(detail::workers); });
    if (detail::jobs >= detail::kMaxUnderWay)
        return base::fail(base::Code::kLimit, fmt::format("{} jobs are under way on the workers", detail::jobs));
    const auto finished = std::make_shared<Event>("a worker");
    auto submitted = std::make_unique<detail::ThreadJob>();
    submitted->work = std::move(job);
    submitted->done = [finished] {
        --detail::jobs;
        finished->set();
    };
    ++detail::jobs;
    detail::workers->submit(std::move(submitted));
    return finished->wait(deadline);
}

size_t offloaded() { return detail::jobs; }

void release_on_worker(std::move_only_function<void()> job) {
    if (!detail::workers) return job();
    auto submitted = std::make_unique<detail::ThreadJob>();
    submitted->work = std::move(job);
    submitted->done = [] {};
    detail::workers->submit(std::move(submitted));
}

}  // namespace runtime
