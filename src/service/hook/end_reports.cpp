#include "service/hook/end_reports.h"

#include <utility>

#include "runtime/loop/clock.h"

namespace service::hook {

EndReports::~EndReports() {
    if (watcher_) watcher_.cancel_and_join();
}

void EndReports::file_ended(const std::string& client_id) {
    auto files = files_.find(client_id);
    if (files == files_.end() || --files->second > 0) return;
    files_.erase(files);
    if (auto client = waiting_.find(client_id); client != waiting_.end()) send_of(client);
}

void EndReports::add(Report report) {
    auto client = waiting_.find(report.client_id);
    if (client == waiting_.end()) {
        // The end of a player is unrelated to what its connection published.
        const bool waits = report.hook != Hook::kOnStop && files_.contains(report.client_id);
        if (!waits || waiting_.size() >= kMaxClients) return send_(report);
        client = waiting_.emplace(report.client_id, Waiting{{}, runtime::now_ms() + max_wait_ms_}).first;
        if (!watcher_ || watcher_.done()) watcher_ = runtime::spawn("hook-ends", [this] { watch(); });
    }
    client->second.reports.push_back(std::move(report));
}

void EndReports::send_all() {
    while (!waiting_.empty()) send_of(waiting_.begin());
}

void EndReports::send_of(Clients::iterator client) {
    const Waiting waiting = std::move(client->second);
    waiting_.erase(client);
    for (const Report& report : waiting.reports) send_(report);
}

void EndReports::watch() {
    constexpr int64_t kPollMs = 200;
    while (!waiting_.empty() && runtime::sleep_ms(kPollMs)) {
        const int64_t now = runtime::now_ms();
        for (auto client = waiting_.begin(); client != waiting_.end();) {
            auto next = std::next(client);
            if (client->second.until_ms <= now) send_of(client);
            client = next;
        }
    }
}

}  // namespace service::hook
