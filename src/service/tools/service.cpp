#include "service/tools/service.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/socket/local_addresses.h"
#include "runtime/threads/workers.h"
#include "service/tools/config.h"
#include "service/tools/files.h"

namespace service::tools {

using base::Result;
using base::StreamKey;
using runtime::Deadline;

namespace {

constexpr int64_t kStopMs = 3'000;  // for tools to end by SIGTERM when the server ends
constexpr int64_t kKillMs = 1'000;  // for the kernel to end them
constexpr int64_t kHousekeepingMs = 1'000;
constexpr int kSampleEvery = 5;  // times of housekeeping

// The group of all ingests.
const StreamKey kIngests{};

}  // namespace

Service::Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry)
    : snapshot_(std::move(snapshot)), sessions_(sessions), registry_(registry), followed_(registry, *this) {}

Service::~Service() { stop(); }

size_t Service::limit() const { return static_cast<size_t>(snapshot_->get<ServerConfig>().max_tools); }

Result<void> Service::start() {
    started_ = true;
    for (const runtime::LocalAddress& address : runtime::local_addresses()) machine_.addresses.insert(address.ip);
    make_log_directory();
    registry_.watch(*this);
    followed_.start(snapshot_);
    plan_all_ingests();
    housekeeper_ = runtime::spawn("tools-housekeeper", [this] { run_housekeeping(); });
    return {};
}

void Service::stop_accepting() {
    draining_ = true;
    set_jobs(kIngests, {});
}

void Service::give_over(bool on) {
    draining_ = on;
    if (on) return set_jobs(kIngests, {});
    plan_all_ingests();
    begin_waiting();
}

void Service::stop() {
    if (!std::exchange(started_, false)) return;
    followed_.stop();
    registry_.unwatch(*this);
    housekeeper_.cancel_and_join();
    wanted_.clear();
    waiting_.clear();
    for (auto& tool : tools_) tool->stop("the server stops");
    tools_.wait_empty(Deadline::in_ms(kStopMs));
    for (auto& tool : tools_) tool->kill();
    tools_.wait_empty(Deadline::in_ms(kKillMs));
    tools_.cancel_and_join();
}

void Service::reload(const config::SnapshotPtr& next) {
    const bool same_directory = snapshot_->get<ServerConfig>().ff_log_dir == next->get<ServerConfig>().ff_log_dir;
    snapshot_ = next;
    if (!started_) return;
    missing_.clear();
    if (!same_directory) make_log_directory();
    followed_.reload(next);
    plan_all_ingests();
    begin_waiting();
}

// ---- Streams

bool Service::is_made_by_tool(const StreamKey& stream) const {
    if (left_.contains(stream)) return true;
    return std::ranges::any_of(tools_, [&](const auto& tool) {
        return std::ranges::find(tool->job().makes, stream) != tool->job().makes.end();
    });
}

// What a tool makes of a stream is not handed to tools again.
bool Service::wants(const live::Stream& stream, const config::Vhost& vhost) const {
    return wants_tools(vhost, stream.key()) && !is_made_by_tool(stream.key());
}

bool Service::follow(live::Stream& stream, const config::Vhost& vhost) {
    keep(stream, vhost);
    return true;
}

void Service::keep(live::Stream& stream, const config::Vhost& vhost) {
    set_jobs(stream.key(), plan_stream(*snapshot_, vhost, names_of(stream), machine_));
}

void Service::leave(live::Stream& stream) { set_jobs(stream.key(), {}); }

void Service::stream_unpublished(live::Stream& stream) { left_.erase(stream.key()); }

StreamNames Service::server_names() const {
    StreamNames names;
    set_server(names, *snapshot_);
    names.wall_ms = base::wall_ms();
    names.utc = snapshot_->global.utc_time;
    return names;
}

StreamNames Service::names_of(const live::Stream& stream) const {
    StreamNames names = server_names();
    names.key = stream.key();
    if (!stream.publisher()) return names;
    live::PublisherFacts facts = stream.publisher()->facts();
    names.params = std::move(facts.params);
    names.tc_url = std::move(facts.tc_url);
    names.page_url = std::move(facts.page_url);
    if (const net::Session* session = sessions_.find(facts.session_id)) names.swf_url = session->details().swf_url;
    return names;
}

void Service::plan_all_ingests() {
    if (draining_) return;
    Plan all;
    for (const config::Vhost& vhost : snapshot_->vhosts) {
        if (!vhost.enabled) continue;
        Plan plan = plan_ingests(*snapshot_, vhost, server_names(), machine_);
        std::ranges::move(plan.jobs, std::back_inserter(all.jobs));
        std::ranges::move(plan.problems, std::back_inserter(all.problems));
    }
    set_jobs(kIngests, std::move(all));
}

// ---- Jobs

// Makes these the only jobs of the group.
void Service::set_jobs(const StreamKey& group, Plan plan) {
    for (const std::string& problem : plan.problems) runtime::error_some(problem_log_, "{}", problem);
    if (plan.problems.empty()) {
        refusals_.erase(group);
    } else {
        refusals_[group] = std::move(plan.problems);
    }
    if (group != kIngests && plan.jobs.size() > kMaxPerStream) {
        runtime::error_some(problem_log_, "{} would have {} external tools: more than {} are not started", group.text(),
                            plan.jobs.size(), kMaxPerStream);
        plan.jobs.resize(kMaxPerStream);
    }
    for (auto& tool : tools_) {
        if (groups_.at(tool.get()) != group) continue;
        if (std::ranges::find(plan.jobs, tool->job().text, &Job::text) == plan.jobs.end())
            tool->stop("it is no longer wanted");
    }
    if (plan.jobs.empty()) {
        wanted_.erase(group);
        waiting_.erase(group);
        return;
    }
    wanted_[group] = std::move(plan.jobs);
    begin_wanted(group);
}

// One that is ending is not begun again before it has ended.
void Service::begin_wanted(const StreamKey& group) {
    waiting_.erase(group);
    const auto wanted = wanted_.find(group);
    if (wanted == wanted_.end() || !started_) return;
    for (const Job& job : wanted->second) {
        const bool is_there =
            std::ranges::any_of(tools_, [&](const auto& tool) { return tool->job().text == job.text; });
        if (is_there) continue;
        if (tools_.size() >= limit()) {
            ++refused_;
            waiting_.insert(group);
            if (full_.found(runtime::now_ms()))
                base::log::error("{} of {} waits: {} external tools run already (max_tools)", kind_name(job.kind),
                                 job.stream.text(), tools_.size());
            return;
        }
        ToolOwner& owner = *this;
        auto tool = std::make_unique<Tool>(owner, job);
        if (!tool->start()) {
            waiting_.insert(group);
            return;
        }
        groups_[tool.get()] = group;
        tools_.add(std::move(tool));
    }
}

void Service::begin_waiting() {
    if (tools_.size() >= limit()) return;
    for (const StreamKey& group : std::exchange(waiting_, {})) {
        if (tools_.size() < limit())
            begin_wanted(group);
        else
            waiting_.insert(group);
    }
}

void Service::tool_ended(Tool& tool) {
    const std::unique_ptr<Tool> ended = tools_.take(tool);
    const StreamKey group = groups_.at(ended.get());
    groups_.erase(ended.get());
    // The server learns of the end of its connection later.
    for (const StreamKey& made : ended->job().makes) {
        const auto stream = registry_.find(made);
        if (stream && stream->published()) left_.insert(made);
    }
    if (!started_) return;
    begin_wanted(group);
    begin_waiting();
}

int64_t Service::start_delay_ms() {
    const int64_t now_ms = runtime::now_ms();
    next_start_ms_ = std::max(next_start_ms_ + Tool::kStartIntervalMs, now_ms);
    return next_start_ms_ - now_ms;
}

void Service::program_missing(const std::string& program) {
    if (missing_.insert(program).second)
        base::log::error(
            "{} does not exist or is not executable: nothing is transcoded, ingested or run by it until it is "
            "installed",
            program);
}

// ---- Housekeeping

void Service::make_log_directory() const {
    const std::string directory = snapshot_->get<ServerConfig>().ff_log_dir;
    if (directory.empty() || directory == "/dev/null") return;
    runtime::release_on_worker([directory] {
        std::error_code error;  // a tool that cannot write its log says so
        std::filesystem::create_directories(directory, error);
    });
}

void Service::run_housekeeping() {
    for (int count = 1; runtime::sleep_ms(kHousekeepingMs); ++count) {
        for (auto& tool : tools_)
            if (tool->ending_ms() > Tool::kTermMs) tool->kill();
        if (!waiting_.empty()) begin_waiting();
        if (waiting_.empty()) (void)full_.ended(runtime::now_ms());
        if (count % kSampleEvery == 0 && !tools_.empty()) keep_logs_and_cpu();
    }
}

void Service::keep_logs_and_cpu() {
    auto sample = std::make_shared<Sample>();
    for (const auto& tool : tools_) {
        if (tool->pid() > 0) sample->cpu_us.emplace_back(tool->pid(), 0);
        if (!tool->job().log_file.empty()) sample->logs.insert(tool->job().log_file);
    }
    if (!runtime::offload([sample] { take_sample(*sample, kMaxLogBytes); }, Deadline::in_ms(10'000))) return;
    for (const auto& [pid, us] : sample->cpu_us)
        for (auto& tool : tools_) tool->update_cpu(pid, us);
}

}  // namespace service::tools
