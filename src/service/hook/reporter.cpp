#include "service/hook/reporter.h"

#include <fmt/format.h>

#include <functional>

#include "base/log.h"
#include "runtime/loop/backoff.h"
#include "runtime/loop/clock.h"

namespace service::hook {

namespace {

constexpr int64_t kDropReportMs = 10'000;  // between two log lines about drops

}  // namespace

void Reporter::add(Report report) {
    std::string target = target_of(report.call.url);
    size_t& waiting = waiting_[target];
    if (waiting >= kMaxWaiting) return drop(report);
    ++waiting;
    ++stats_.queued;
    size_t number = std::hash<std::string>()(report.client_id) % kQueues;
    std::string name = fmt::format("{} {}", target, number);
    Queue& queue = queues_[name];
    queue.waiting.push_back(std::move(report));
    if (!queue.task) queue.task = runtime::spawn("hook-report", [this, name] { work(name); });
}

void Reporter::drop(const Report& report) {
    ++stats_.at(report.call.hook).dropped;
    int64_t now = runtime::now_ms();
    if (now < drop_reported_ms_) return;
    drop_reported_ms_ = now + kDropReportMs;
    base::log::warn("hook {} {}: a report was dropped; {} so far", hook_name(report.call.hook),
                    for_log(report.call.url), stats_.at(report.call.hook).dropped);
}

void Reporter::work(const std::string& name) {
    auto at = queues_.find(name);  // stays valid while other queues are added and removed
    Queue& queue = at->second;
    const std::string target = name.substr(0, name.rfind(' '));
    while (!queue.waiting.empty()) {
        Report report = std::move(queue.waiting.front());
        queue.waiting.pop_front();
        runtime::set_context_id(report.client_id.empty() ? runtime::new_context_id() : report.client_id);
        if (!runtime::cancelled() && deliver(queue, report)) {
            queue.failing = false;
        } else {
            queue.failing = true;
            drop(report);
        }
        --stats_.queued;
        if (auto count = waiting_.find(target); --count->second == 0) waiting_.erase(count);
    }
    queues_.erase(at);
    if (queues_.empty()) empty_.pulse();
}

// False: it was not delivered.
bool Reporter::deliver(Queue& queue, const Report& report) {
    runtime::Backoff backoff(500, 30'000);
    for (int left = queue.failing ? 0 : report.hooks->retries;; --left) {
        auto called = caller_.call(report.call, *report.hooks);
        // A refusal counts as delivered: it has no effect here.
        if (called || called.error().code() == base::Code::kRefused) return true;
        if (left <= 0 || called.error().code() == base::Code::kCancelled) return false;
        if (!runtime::sleep_ms(runtime::varied_ms(backoff.next_ms()))) return false;
        ++stats_.at(report.call.hook).retries;
    }
}

void Reporter::stop(int64_t wait_ms) {
    auto until = runtime::Deadline::in_ms(wait_ms);
    while (!queues_.empty() && !until.passed())
        if (!empty_.wait_next(until)) break;
    if (queues_.empty()) return;
    base::log::warn("hooks: {} reports are dropped, the server stops", stats_.queued);
    std::vector<runtime::Task> tasks;
    for (auto& [name, queue] : queues_) tasks.push_back(queue.task);
    for (auto& task : tasks) task.cancel_and_join();
}

}  // namespace service::hook
