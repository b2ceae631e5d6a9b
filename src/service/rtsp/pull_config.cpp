#include "service/rtsp/pull_config.h"

#include <fmt/format.h>

#include "base/text.h"
#include "config/row_builder.h"
#include "protocol/sdp/session/control.h"

namespace service::rtsp {

using base::Code;
using base::fail;
using base::Result;

namespace {

PullSource::Transport transport_of(const PullInput& input) {
    if (input.transport == "tcp") return PullSource::Transport::kTcp;
    return input.transport == "udp" ? PullSource::Transport::kUdpThenTcp : PullSource::Transport::kTcpThenUdp;
}

}  // namespace

Result<PullSource> parse_source(std::string_view url) { return PullSource{TRY(::rtsp::parse_url(url))}; }

Result<PullTask> make_task(const Ingest& ingest, const std::string& vhost) {
    PullTask task;
    task.name = ingest.name;
    const std::string what = "ingest " + ingest.name;
    const auto& input = ingest.parts.get<PullInput>();
    task.stream = TRY(ingested_stream(ingest, vhost), what);
    task.source = TRY(parse_source(ingest.url), what);
    task.source.transport = transport_of(input);
    task.source.basic = input.methods != "digest";
    task.source.digest = input.methods != "basic";
    if (task.source.tls && task.source.transport == PullSource::Transport::kUdpThenTcp)
        return fail(Code::kConfig, what + ": UDP would not be encrypted: rtsps needs transport tcp");
    if (task.source.tls) task.source.transport = PullSource::Transport::kTcp;
    task.on_demand = ingest.on_demand;
    task.text = fmt::format("{}\n{}\n{}\n{}\n{}", task.stream.text(), ingest.url, input.transport, input.methods,
                            ingest.on_demand);
    return task;
}

std::vector<PullTask> pull_tasks(const config::Snapshot& snapshot) {
    std::vector<PullTask> tasks;
    for (const config::Vhost& vhost : snapshot.vhosts) {
        if (!vhost.enabled) continue;
        for (const Ingest& ingest : vhost.get<VhostIngests>().all)
            if (ingest.enabled && puller_of(ingest) == IngestPuller::kRtsp)
                if (auto task = make_task(ingest, vhost.name)) tasks.push_back(*std::move(task));
    }
    return tasks;
}

void add_pull_rows(std::vector<config::Row>& rows) {
    using namespace config;
    using I = PullInput;
    const Scope input{"vhost/ingest/input", [](const auto& root) -> decltype(auto) {
                          return (root.vhost->template get<VhostIngests>().draft.parts.template get<PullInput>());
                      }};
    add_ingest_rows(rows);
    rows.push_back(row(input, "transport", &I::transport, one_of({"auto", "tcp", "udp"}), kLive,
                       "How media of RTSP comes: tcp on the connection; udp, or tcp if the camera refuses udp; auto: "
                       "tcp, or udp if the camera refuses tcp."));
    rows.push_back(row(input, "methods", &I::methods, one_of({"all", "digest", "basic"}), kLive,
                       "RTSP: how the user and password of url may be sent: digest, basic (in the clear without "
                       "rtsps), or all: digest where the camera offers it."));
}

void check_ingests(config::Checks& checks, config::Vhost& vhost) {
    check_pulled_streams(checks, vhost, IngestPuller::kRtsp);
    for (const Ingest& ingest : vhost.get<VhostIngests>().all) {
        if (!ingest.enabled) continue;
        if (const IngestPuller puller = puller_of(ingest); puller != IngestPuller::kRtsp) {
            if (puller == IngestPuller::kTool && !has_tool_for_ingests())
                checks.warning(ingest.location,
                               fmt::format("ingest {}: an input of type {} needs an external tool, and that is not "
                                           "built in: nothing is pulled",
                                           ingest.name, ingest.type));
            continue;
        }
        if (auto task = make_task(ingest, vhost.name); !task) checks.error(ingest.location, task.error().text());
    }
}

}  // namespace service::rtsp
