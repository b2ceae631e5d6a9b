#include "runtime/threads/compute.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "base/log.h"
#include "runtime/loop/services.h"
#include "runtime/threads/thread_pool.h"

namespace runtime {
namespace detail {
namespace {

ThreadPool* compute_pool = nullptr;
size_t under_way = 0;

}  // namespace

}  // namespace detail

bool compute(std::move_only_function<void()> work, std::move_only_function<void()> done) {
    using detail::compute_pool;
    if (!compute_pool) {
        const size_t processors = std::thread::hardware_concurrency();
        auto started = detail::start_pool(compute_pool, "compute", std::clamp<size_t>(processors, 2, 5) - 1);
        if (!started) {
            base::log::error("threads for computing: {}", started.error().describe());
            return false;
        }
        detail::stop_at_shutdown(detail::Service::kCompute, [] { detail::stop_pool(compute_pool); });
    }
    auto job = std::make_unique<detail::ThreadJob>();
    job->work = std::move(work);
    job->done = [done = std::move(done)]() mutable {
        --detail::under_way;
        done();
    };
    ++detail::under_way;
    compute_pool->submit(std::move(job));
    return true;
}

size_t computing() { return detail::under_way; }

}  // namespace runtime
