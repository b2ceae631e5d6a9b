#include "service/rtsp/pull_config.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "config/row_builder.h"
#include "protocol/rtmp/url.h"
#include "protocol/sdp/session/control.h"

namespace service::rtsp {

using base::Code;
using base::fail;
using base::Result;

namespace {

// APP/STREAM, from the directive, from an engine's output, or live/NAME.
Result<base::StreamKey> stream_of(const Ingest& ingest, const std::string& vhost) {
    std::string path = ingest.stream.empty() ? "live/" + ingest.name : ingest.stream;
    if (ingest.stream.empty() && !ingest.output.empty()) {
        std::string output = ingest.output;
        for (const auto& [from, to] : {std::pair<std::string_view, std::string_view>{"[port]", "1935"},
                                       {"[vhost]", vhost},
                                       {"[engine]", ingest.name}})
            for (size_t at = 0; (at = output.find(from, at)) != output.npos; at += to.size())
                output.replace(at, from.size(), to);
        auto url = TRY(::rtmp::parse_any_url(output), "output");
        auto address = TRY(::rtmp::resolve_stream(url.tc_url(), {}, url.stream), "output");
        path = address.app + "/" + address.stream;
    }
    const size_t slash = path.rfind('/');
    if (slash == path.npos || slash == 0 || slash + 1 == path.size())
        return fail(Code::kConfig, fmt::format("stream '{}' is not APP/STREAM", path));
    auto address =
        TRY(::rtmp::resolve_stream("rtmp://h/" + path.substr(0, slash), {}, path.substr(slash + 1)), "stream");
    return base::StreamKey{vhost, address.app, address.stream};
}

PullSource::Transport transport_of(const Ingest& ingest) {
    if (ingest.transport == "tcp") return PullSource::Transport::kTcp;
    return ingest.transport == "udp" ? PullSource::Transport::kUdpThenTcp : PullSource::Transport::kTcpThenUdp;
}

std::string text_of(const config::Vhost& vhost) {
    std::string text;
    for (const Ingest& ingest : vhost.get<VhostIngests>().all) {
        if (!ingest.enabled) continue;
        text += fmt::format("{}{} ({} {}, {}{}{}{})", text.empty() ? "" : ", ", ingest.name, ingest.type,
                            sdp::without_credentials(ingest.url), ingest.transport,
                            ingest.on_demand ? ", on demand" : "", ingest.stream.empty() ? "" : ", ", ingest.stream);
    }
    return text;
}

}  // namespace

Result<PullSource> parse_source(std::string_view url) {
    return PullSource{TRY(::rtsp::parse_url(url)), PullSource::Transport::kTcpThenUdp};
}

bool is_pulled(const Ingest& ingest) {
    return ingest.type == "rtsp" || (ingest.type == "stream" && ::rtsp::is_rtsp_url(ingest.url));
}

Result<PullTask> make_task(const Ingest& ingest, const std::string& vhost) {
    PullTask task;
    task.name = ingest.name;
    const std::string what = "ingest " + ingest.name;
    if (ingest.name.empty() && ingest.stream.empty() && ingest.output.empty())
        return fail(Code::kConfig, "ingest needs a name, or `stream APP/STREAM;`");
    task.stream = TRY(stream_of(ingest, vhost), what);
    task.source = TRY(parse_source(ingest.url), what);
    task.source.transport = transport_of(ingest);
    if (task.source.tls && task.source.transport == PullSource::Transport::kUdpThenTcp)
        return fail(Code::kConfig, what + ": UDP would not be encrypted: rtsps needs transport tcp");
    if (task.source.tls) task.source.transport = PullSource::Transport::kTcp;
    task.on_demand = ingest.on_demand;
    task.text = fmt::format("{}\n{}\n{}\n{}", task.stream.text(), ingest.url, ingest.transport, ingest.on_demand);
    return task;
}

std::vector<PullTask> pull_tasks(const config::Snapshot& snapshot) {
    std::vector<PullTask> tasks;
    for (const config::Vhost& vhost : snapshot.vhosts) {
        if (!vhost.enabled) continue;
        for (const Ingest& ingest : vhost.get<VhostIngests>().all)
            if (ingest.enabled && is_pulled(ingest))
                if (auto task = make_task(ingest, vhost.name)) tasks.push_back(*std::move(task));
    }
    return tasks;
}

void add_pull_rows(std::vector<config::Row>& rows) {
    using namespace config;
    using I = Ingest;
    const auto find = [](const auto& root) -> decltype(auto) {
        return (root.vhost->template get<VhostIngests>().draft);
    };
    const Scope ingest{"vhost/ingest", find};
    rows.push_back(row(ingest, "enabled", &I::enabled, none(), kLive,
                       "Pulls a stream from a camera or another server and publishes it, see doc/rtsp.md."));
    rows.push_back(row(ingest, "stream", &I::stream, none(), kLive,
                       "The stream that is published, APP/STREAM. Without it the one of the engine's output, or "
                       "live/ and the name of the ingest.",
                       "live/camera"));
    rows.push_back(row(ingest, "ffmpeg", &I::ffmpeg, none(), kLive,
                       "An external tool: streams of RTSP are pulled without one, others cannot be pulled yet.",
                       "./objs/ffmpeg/bin/ffmpeg"));
    const Scope input{"vhost/ingest/input", find};
    rows.push_back(row(input, "type", &I::type, one_of({"file", "stream", "rtsp"}), kLive,
                       "rtsp, or stream with a URL of RTSP. Others need an external tool, and are not built yet."));
    rows.push_back(row(input, "url", &I::url, none(), kLive,
                       "rtsp://USER:PASSWORD@HOST:PORT/PATH, or rtsps://. Special characters of user and password are "
                       "percent-encoded.",
                       "rtsp://viewer:secret@192.0.2.7/stream1"));
    rows.push_back(row(input, "transport", &I::transport, one_of({"auto", "tcp", "udp"}), kLive,
                       "How media comes: tcp on the connection; udp, or tcp if the camera refuses udp; auto: tcp, or "
                       "udp if the camera refuses tcp."));
    rows.push_back(
        row(input, "on_demand", &I::on_demand, none(), kLive,
            "Pulls only while there are players other than those of HLS. A player that comes first waits for the "
            "stream."));
    const Scope engine{"vhost/ingest/engine", find};
    rows.push_back(row(engine, "output", &I::output, none(), kLive,
                       "Its app and stream are those that a pulled stream gets; nothing is transcoded.",
                       "rtmp://127.0.0.1:[port]/live/camera?vhost=[vhost]"));
}

config::NamedBlock ingest_block() {
    return {.path = "vhost/ingest",
            .keep =
                [](config::Vhost& vhost, const std::string& name, const config::Location& location) {
                    auto& ingests = vhost.get<VhostIngests>();
                    Ingest& added = ingests.all.emplace_back(ingests.draft);
                    added.name = name;
                    added.location = location;
                },
            .text = text_of};
}

void check_ingests(config::Checks& checks, config::Vhost& vhost) {
    std::set<std::string> streams;
    for (const Ingest& ingest : vhost.get<VhostIngests>().all) {
        if (!ingest.enabled) continue;
        if (!is_pulled(ingest)) {
            checks.warning(ingest.location,
                           fmt::format("ingest {}: an input of type {} needs an external tool, and that is not built "
                                       "yet: nothing is pulled; `type rtsp` needs none",
                                       ingest.name, ingest.type));
            continue;
        }
        auto task = make_task(ingest, vhost.name);
        if (!task) {
            checks.error(ingest.location, task.error().text());
        } else if (!streams.insert(task->stream.text()).second) {
            checks.error(ingest.location,
                         fmt::format("ingest {}: another one publishes {}, too", ingest.name, task->stream.text()));
        }
    }
}

}  // namespace service::rtsp
