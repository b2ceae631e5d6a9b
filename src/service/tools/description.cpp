#include "service/description.h"

#include <algorithm>

#include "service/ingest.h"
#include "service/tools/command.h"
#include "service/tools/config.h"
#include "service/tools/report.h"
#include "service/tools/service.h"

namespace service::tools {
namespace {

// Each once.
std::vector<Program> programs(const config::Snapshot& snapshot) {
    std::vector<Program> all;
    const auto add = [&](std::string what, std::string program, config::Location location) {
        if (std::ranges::find(all, program, &Program::program) == all.end())
            all.push_back({std::move(what), std::move(program), std::move(location)});
    };
    for (const config::Vhost& vhost : snapshot.vhosts) {
        if (!vhost.enabled) continue;
        const auto& exec = vhost.get<ExecConfig>();
        for (const auto& words : exec.publish)
            if (const auto command = parse_command(words); exec.enabled && command)
                add("exec of vhost " + vhost.name, command->words[0],
                    snapshot.location_of(vhost.name, "vhost/exec/publish"));
        for (const Transcode& transcode : vhost.get<VhostTranscodes>().all)
            if (transcode.enabled)
                add("transcode of vhost " + vhost.name, ffmpeg_of(transcode.ffmpeg), transcode.location);
        for (const Ingest& ingest : vhost.get<VhostIngests>().all)
            if (ingest.enabled && puller_of(ingest) == IngestPuller::kTool)
                add("ingest of vhost " + vhost.name, ffmpeg_of(ingest.ffmpeg), ingest.location);
    }
    return all;
}

std::vector<OutputFile> outputs(const config::Snapshot& snapshot) {
    const std::string& directory = snapshot.get<ServerConfig>().ff_log_dir;
    if (programs(snapshot).empty() || directory.empty() || directory == "/dev/null") return {};
    return {{"ff_log_dir", directory.ends_with('/') ? directory : directory + "/", false,
             snapshot.location_of("", "ff_log_dir")}};
}

const char* output_of(Kind kind) { return kind == Kind::kTranscode ? "transcode" : "exec"; }

bool fails(const Tool& tool) { return !tool.problem().empty() && tool.pid() == 0; }

// An ingest is no output of its stream.
void visit_outputs(const Service& service, const live::StreamKey* only, const OutputVisit& visit) {
    using State = StreamOutput::State;
    for (const auto& tool : service.tools()) {
        const Job& job = tool->job();
        if (job.kind == Kind::kIngest || tool->ending()) continue;
        if (only ? job.stream != *only : !fails(*tool)) continue;
        StreamOutput output{.output = output_of(job.kind), .to = job.name};
        if (tool->pid() == 0) output.state = fails(*tool) ? State::kFails : State::kStarts;
        if (output.state == State::kFails) output.problem = tool->problem();
        visit(job.stream, std::move(output));
    }
    service.for_each_refusal([&](const live::StreamKey& key, const std::string& text) {
        if (!only || *only == key) visit(key, {"transcode", {}, State::kFails, text});
    });
}

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto service = std::make_shared<Service>(snapshot, parts.sessions, parts.registry);
    parts.api_rows.add(api_row(*service, parts.identity));
    parts.offers.outputs.push_back([service = service.get()](const live::StreamKey* only, const OutputVisit& visit) {
        visit_outputs(*service, only, visit);
    });
    parts.offers.metrics.push_back(
        [service = service.get()](prometheus::Text& text) { write_metrics(*service, text); });
    return module_of("tools", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "tools",
                                          .section = section(),
                                          .features = {"transcode", "ingest"},
                                          .outputs = outputs,
                                          .programs = programs,
                                          .make = make};
    return kDescription;
}

}  // namespace service::tools
