#pragma once
// Ingests of SRT: streams that this server pulls from others, as vhost/ingest says: the configuration, and the runner
// of service/relay, whose only server is that of the URL.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stream_key.h"
#include "config/section.h"
#include "service/ingest.h"
#include "service/relay/ingest_manager.h"
#include "service/relay/srt_source.h"

namespace service::srt {

net::SessionType srt_pull_type();

// What an ingest of SRT is to do.
struct PullTask {
    std::string name{};        // of the ingest
    base::StreamKey stream{};  // that is published
    relay::SrtTarget target{};
    bool on_demand = false;
    // Everything of the configuration as one text, with secrets: equal texts are the same task.
    std::string text{};
};

// kConfig: the text names the ingest.
base::Result<PullTask> make_task(const Ingest& ingest, const std::string& vhost);
// The pulls of all enabled vhosts. Those with an error are left out.
std::vector<PullTask> pull_tasks(const config::Snapshot& snapshot);
void check_ingests(config::Checks& checks, const config::Vhost& vhost);

class IngestPull final : public relay::SourceRunner {
  public:
    // The owner must outlive it.
    IngestPull(relay::SourceOwner& owner, PullTask task);

    const PullTask& task() const { return task_; }

  private:
    std::vector<std::string> servers_now(const config::Vhost&) override { return {task_.target.shown}; }
    base::Result<std::unique_ptr<relay::Source>> make_source(const std::string&, const config::Vhost&) override {
        return relay::make_srt_source({.target = task_.target});
    }
    int64_t on_failure(const base::Error& error) override;

    const PullTask task_;
};

using IngestPulls = relay::IngestManager<IngestPull>;

}  // namespace service::srt
