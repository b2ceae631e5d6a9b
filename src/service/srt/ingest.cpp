#include "service/srt/ingest.h"

#include <fmt/format.h>

#include <utility>

namespace service::srt {

using base::Result;

net::SessionType srt_pull_type() {
    static const net::SessionType kType = net::SessionType::add("srt-pull", true);
    return kType;
}

Result<PullTask> make_task(const Ingest& ingest, const std::string& vhost) {
    PullTask task;
    task.name = ingest.name;
    const std::string what = "ingest " + ingest.name;
    task.stream = TRY(ingested_stream(ingest, vhost), what);
    task.target.url = TRY(::srt::parse_url(ingest.url), what);
    task.target.shown = task.target.url.shown;
    task.on_demand = ingest.on_demand;
    task.text = fmt::format("{}\n{}\n{}", task.stream.text(), ingest.url, ingest.on_demand);
    return task;
}

std::vector<PullTask> pull_tasks(const config::Snapshot& snapshot) {
    std::vector<PullTask> tasks;
    for (const config::Vhost& vhost : snapshot.vhosts) {
        if (!vhost.enabled) continue;
        for (const Ingest& ingest : vhost.get<VhostIngests>().all)
            if (ingest.enabled && puller_of(ingest) == IngestPuller::kSrt)
                if (auto task = make_task(ingest, vhost.name)) tasks.push_back(*std::move(task));
    }
    return tasks;
}

void check_ingests(config::Checks& checks, const config::Vhost& vhost) {
    check_pulled_streams(checks, vhost, IngestPuller::kSrt);
    for (const Ingest& ingest : vhost.get<VhostIngests>().all) {
        if (!ingest.enabled || puller_of(ingest) != IngestPuller::kSrt) continue;
        if (auto task = make_task(ingest, vhost.name); !task) checks.error(ingest.location, task.error().text());
    }
}

IngestPull::IngestPull(relay::SourceOwner& owner, PullTask task)
    : SourceRunner(owner, {.log_name = "ingest " + task.name,
                           .session_type = srt_pull_type(),
                           .key = task.stream,
                           .connect_ms = 10'000,
                           .on_demand = task.on_demand,
                           .is_configured = true}),
      task_(std::move(task)) {}

// What was configured is wrong until it is changed, here or there.
int64_t IngestPull::on_failure(const base::Error& error) {
    return error.code() == base::Code::kRefused && !is_streaming() ? kLongestPauseMs : 0;
}

}  // namespace service::srt
