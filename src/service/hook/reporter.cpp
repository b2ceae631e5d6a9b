#include "service/hook/reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/clock.h"
#include "base/log.h"

namespace service::hook {

namespace {

constexpr int64_t kFirstPauseMs = 500, kLongestPauseMs = 30'000;
constexpr int64_t kDropNoteMs = 10'000;  // between two log lines about drops

}  // namespace

void Reporter::add(Report report) {
    std::string target = target_of(report.call.url);
    size_t& waiting = waiting_[target];
    if (waiting >= kMaxWaiting) return drop(report);
    ++waiting;
    ++stats_.queued;
    size_t number = std::hash<std::string>()(report.client_id) % kLanes;
    std::string place = fmt::format("{} {}", target, number);
    Lane& lane = lanes_[place];
    lane.waiting.push_back(std::move(report));
    if (!lane.task) lane.task = runtime::spawn("hook-report", [this, place] { work(place); });
}

void Reporter::drop(const Report& report) {
    ++stats_.at(report.call.hook).dropped;
    int64_t now = base::monotonic_ms();
    if (now < dropped_note_ms_) return;
    dropped_note_ms_ = now + kDropNoteMs;
    base::log::warn("hook {} {}: a report was dropped; {} so far", hook_name(report.call.hook),
                    for_log(report.call.url), stats_.at(report.call.hook).dropped);
}

void Reporter::work(const std::string& place) {
    auto at = lanes_.find(place);  // stays valid while other lanes are added and removed
    Lane& lane = at->second;
    const std::string target = place.substr(0, place.rfind(' '));
    while (!lane.waiting.empty()) {
        Report report = std::move(lane.waiting.front());
        lane.waiting.pop_front();
        runtime::set_context_id(report.client_id.empty() ? runtime::new_context_id() : report.client_id);
        if (!runtime::cancelled() && deliver(lane, report)) {
            lane.failing = false;
        } else {
            lane.failing = true;
            drop(report);
        }
        --stats_.queued;
        if (auto count = waiting_.find(target); --count->second == 0) waiting_.erase(count);
    }
    lanes_.erase(at);
    if (lanes_.empty()) empty_.pulse();
}

// False: it was not delivered.
bool Reporter::deliver(Lane& lane, const Report& report) {
    int64_t pause_ms = kFirstPauseMs;
    for (int left = lane.failing ? 0 : report.hooks->retries;; --left) {
        auto called = caller_.call(report.call, *report.hooks);
        // A refusal counts as delivered: it has no effect here.
        if (called || called.error().code() == base::Code::kRefused) return true;
        if (left <= 0 || called.error().code() == base::Code::kCancelled) return false;
        if (!runtime::sleep_ms(pause_ms)) return false;
        pause_ms = std::min(pause_ms * 2, kLongestPauseMs);
        ++stats_.at(report.call.hook).retries;
    }
}

void Reporter::stop(int64_t wait_ms) {
    auto until = runtime::Deadline::in_ms(wait_ms);
    while (!lanes_.empty() && !until.passed())
        if (!empty_.wait_next(until)) break;
    if (lanes_.empty()) return;
    base::log::warn("hooks: {} reports are dropped, the server stops", stats_.queued);
    std::vector<runtime::Task> tasks;
    for (auto& [place, lane] : lanes_) tasks.push_back(lane.task);
    for (auto& task : tasks) task.cancel_and_join();
}

}  // namespace service::hook
