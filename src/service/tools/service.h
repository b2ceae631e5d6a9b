#pragma once
// External tools: exec, transcode and ingest. What tools a stream has is planned when it is published (plan.h), each is
// kept running by a Tool. See doc/transcode.md and doc/decisions/135-external-tools-are-children.md.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/followed_streams.h"
#include "live/hub/registry.h"
#include "net/sessions/session.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/log_limit.h"
#include "runtime/loop/task_list.h"
#include "service/tools/plan.h"
#include "service/tools/tool.h"

namespace service::tools {

class Service final : private live::StreamFollower, private live::StreamWatcher, private ToolOwner {
  public:
    // A stream's; in all they are limited by max_tools.
    static constexpr size_t kMaxPerStream = 16;
    static constexpr int64_t kMaxLogBytes = 10'000'000;  // beyond it, the log is moved to .1

    // The references must outlive it.
    Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry);
    ~Service();  // stops: yields

    base::Result<void> start();
    void stop_accepting();  // ends ingests, which would publish as long as the server runs
    // Ingests are the other process's.
    void give_over(bool on);
    bool idle() const { return true; }
    void stop();
    // Tools whose command lines stay the same are not disturbed.
    void reload(const config::SnapshotPtr& next);

    const runtime::TaskList<Tool>& tools() const { return tools_; }
    size_t limit() const;
    // What of published streams' tools could not be planned.
    template <class Visit>
    void for_each_refusal(const Visit& visit) const {
        for (const auto& [stream, texts] : refusals_)
            for (const std::string& text : texts) visit(stream, text);
    }
    uint64_t refused() const { return refused_; }  // jobs that had to wait for others to end

  private:
    // Jobs that belong together: those of a stream, or the ingests of all vhosts (an empty name).
    using Jobs = std::map<base::StreamKey, std::vector<Job>>;

    bool wants(const live::Stream& stream, const config::Vhost& vhost) const override;
    bool follow(live::Stream& stream, const config::Vhost& vhost) override;
    void keep(live::Stream& stream, const config::Vhost& vhost) override;
    void leave(live::Stream& stream) override;
    void stream_published(live::Stream&) override {}
    void stream_unpublished(live::Stream& stream) override;
    int64_t start_delay_ms() override;
    void program_missing(const std::string& program) override;
    void program_found(const std::string& program) override { missing_.erase(program); }
    void tool_ended(Tool& tool) override;

    StreamNames names_of(const live::Stream& stream) const;
    StreamNames server_names() const;
    void plan_all_ingests();
    void set_jobs(const base::StreamKey& group, Plan plan);
    void begin_wanted(const base::StreamKey& group);
    void begin_waiting();
    bool is_made_by_tool(const base::StreamKey& stream) const;
    void make_log_directory() const;
    void run_housekeeping();
    void keep_logs_and_cpu();

    config::SnapshotPtr snapshot_;
    net::SessionTable& sessions_;
    live::Registry& registry_;
    live::FollowedStreams followed_;
    Machine machine_;
    Jobs wanted_;
    std::set<base::StreamKey> waiting_;  // groups with jobs that could not begin
    runtime::TaskList<Tool> tools_{"the last external tool to end"};
    std::map<const Tool*, base::StreamKey> groups_;
    std::set<base::StreamKey> left_;  // streams of tools that ended, which are still published
    std::set<std::string> missing_;   // programs
    uint64_t refused_ = 0;
    std::map<base::StreamKey, std::vector<std::string>> refusals_;
    runtime::LogLimit problem_log_;
    runtime::LogCondition full_;
    runtime::Task housekeeper_;
    int64_t next_start_ms_ = 0;  // by the loop's clock
    bool started_ = false;
    bool draining_ = false;
};

}  // namespace service::tools
