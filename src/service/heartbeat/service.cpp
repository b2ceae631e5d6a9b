#include "service/heartbeat/service.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "base/log.h"
#include "runtime/loop/clock.h"
#include "runtime/socket/local_addresses.h"
#include "service/heartbeat/config.h"
#include "service/heartbeat/report.h"

namespace service::heartbeat {

using base::Result;
using runtime::Deadline;

namespace {
constexpr int64_t kAnswerMs = 5'000;
}

Service::Service(config::SnapshotPtr snapshot, Post post, Summaries summaries, std::string service_id)
    : snapshot_(std::move(snapshot)),
      post_(std::move(post)),
      summaries_(std::move(summaries)),
      service_id_(std::move(service_id)) {}

Service::~Service() { stop(); }

Result<void> Service::start() {
    task_ = runtime::spawn("heartbeat", [this] { beat(); });
    return {};
}

void Service::stop() {
    if (task_) task_.cancel_and_join();
    task_ = {};
}

void Service::reload(const config::SnapshotPtr& next) {
    const ServerConfig& before = snapshot_->get<ServerConfig>();
    const ServerConfig& after = next->get<ServerConfig>();
    bool at_once = before.enabled != after.enabled || before.interval != after.interval || before.url != after.url;
    if (at_once) reported_ = false;
    snapshot_ = next;
    if (at_once) changed_.pulse();
}

void Service::beat() {
    runtime::set_context_id(runtime::new_context_id());
    while (!runtime::cancelled()) {
        if (!snapshot_->get<ServerConfig>().enabled) {
            if (!changed_.wait_next(Deadline::never())) return;
            continue;
        }
        int64_t began_us = runtime::now_us();
        report();
        // The interval is measured between the beginnings of reports; if one took longer, the next follows at once.
        Deadline next = Deadline::at_us(began_us + std::llround(snapshot_->get<ServerConfig>().interval * 1e6));
        auto waited = changed_.wait_next(next);
        if (!waited && waited.error().code() == base::Code::kCancelled) return;
    }
}

void Service::report() {
    // A reload may replace the snapshot meanwhile.
    const config::SnapshotPtr snapshot = snapshot_;
    const ServerConfig& heartbeat = snapshot->get<ServerConfig>();
    const char* given_ip = std::getenv("SRS_DEVICE_IP");  // as in SRS: for a container, or behind a NAT
    const Reporter reporter{given_ip && *given_ip ? given_ip : runtime::local_ip(), service_id_,
                            std::to_string(getpid())};
    std::string body = make_report(*snapshot, reporter, heartbeat.summaries ? summaries_() : "{}");
    const std::string authorization = heartbeat.auth.enabled ? "Bearer " + heartbeat.auth.token : "";
    auto answer = post_(heartbeat.url, body, authorization, Deadline::in_ms(kAnswerMs));
    if (!answer && answer.error().code() == base::Code::kCancelled) return;
    ++sent_;
    std::string shown = heartbeat.url.substr(0, heartbeat.url.find('?'));
    if (answer) {
        const bool failed_before = error_.clear();
        if (!std::exchange(reported_, true) || failed_before)
            base::log::trace("heartbeat: {} takes the reports", shown);
        return;
    }
    ++failed_;
    const bool is_new = error_.update(answer.error().text());
    if (!std::exchange(reported_, true) || is_new) base::log::warn("heartbeat: {}: {}", shown, error_.text());
}

}  // namespace service::heartbeat
