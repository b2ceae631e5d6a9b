#include "service/ingest.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/redaction.h"
#include "config/path_variables.h"
#include "config/row_builder.h"
#include "protocol/rtmp/url.h"
#include "protocol/rtsp/url.h"
#include "protocol/sdp/session/control.h"
#include "protocol/srt/url.h"
#include "service/udp_url.h"

namespace service {

using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr std::string_view kIngest = "vhost/ingest", kEngine = "vhost/ingest/engine";

bool is_built_in(std::string_view path) {
    const config::Row* row = config::find_row(path);
    return row && row->supported();
}

// An enabled one, and the tool for it.
bool has_engine(const Ingest& ingest) {
    return has_tool_for_ingests() &&
           std::ranges::any_of(ingest.engines, [](const IngestEngine& engine) { return engine.enabled; });
}

// A URL may have secrets.
std::string shown(std::string_view url) {
    return ::srt::is_srt_url(url) ? base::bare_url(url) : std::string(sdp::without_credentials(url));
}

void keep_engine(config::Vhost& vhost, const std::string& name, const config::Location&) {
    auto& ingests = vhost.get<VhostIngests>();
    const std::string text = config::draft_text(kEngine, vhost, shown);
    IngestEngine& added = ingests.draft.engines.emplace_back(std::exchange(ingests.draft_engine, {}));
    added.name = name;
    added.text = text + added.text;
}

void keep_ingest(config::Vhost& vhost, const std::string& name, const config::Location& location) {
    auto& ingests = vhost.get<VhostIngests>();
    const std::string text = config::draft_text(kIngest, vhost, shown);
    Ingest& added = ingests.all.emplace_back(std::exchange(ingests.draft, {}));
    added.name = name;
    added.location = location;
    added.text = text;
}

std::string text_of(const config::Vhost& vhost) {
    std::string text;
    for (const Ingest& ingest : vhost.get<VhostIngests>().all) {
        if (!ingest.enabled) continue;
        text += fmt::format("{}{} ({}", text.empty() ? "" : ", ", ingest.name, ingest.text);
        for (const IngestEngine& engine : ingest.engines)
            text += fmt::format(", engine {}: {}", engine.name, engine.text);
        text += ')';
    }
    return text;
}

}  // namespace

const std::string& Ingest::output() const {
    static const std::string kNone;
    for (const IngestEngine& engine : engines)
        if (!engine.output.empty()) return engine.output;
    return kNone;
}

bool has_tool_for_ingests() { return is_built_in("vhost/ingest/engine/enabled"); }

IngestPuller puller_of(const Ingest& ingest) {
    const bool is_stream = ingest.type == "stream";
    const bool is_udp = is_udp_url(ingest.url);
    IngestPuller puller = IngestPuller::kTool;
    if (ingest.type == "rtsp" || (is_stream && ::rtsp::is_rtsp_url(ingest.url))) puller = IngestPuller::kRtsp;
    // A URL of SRT with another type is FFmpeg's: its times are microseconds there, and it may listen.
    if (ingest.type == "srt") puller = IngestPuller::kSrt;
    if (ingest.type == "udp" || (is_stream && is_udp)) puller = IngestPuller::kUdp;
    if (puller == IngestPuller::kRtsp && !is_built_in("vhost/ingest/input/transport")) return IngestPuller::kTool;
    if (puller == IngestPuller::kUdp && !is_built_in("stream_caster/source")) return IngestPuller::kTool;
    if (puller == IngestPuller::kSrt && !is_built_in("srt_server/enabled")) return IngestPuller::kTool;
    return has_engine(ingest) ? IngestPuller::kTool : puller;
}

void check_pulled_streams(config::Checks& checks, const config::Vhost& vhost, IngestPuller puller) {
    std::set<std::string> streams;
    for (const Ingest& ingest : vhost.get<VhostIngests>().all) {
        if (!ingest.enabled || puller_of(ingest) == IngestPuller::kTool) continue;
        const auto stream = ingested_stream(ingest, vhost.name);
        if (stream && !streams.insert(stream->text()).second && puller_of(ingest) == puller)
            checks.error(ingest.location,
                         fmt::format("ingest {}: another one publishes {}, too", ingest.name, stream->text()));
    }
}

Result<base::StreamKey> ingested_stream(const Ingest& ingest, const std::string& vhost) {
    if (ingest.name.empty() && ingest.stream.empty() && ingest.output().empty())
        return fail(Code::kConfig, "ingest needs a name, or `stream APP/STREAM;`");
    std::string path = ingest.stream.empty() ? "live/" + ingest.name : ingest.stream;
    if (ingest.stream.empty() && !ingest.output().empty()) {
        config::PathVariables variables;
        variables.set("port", "1935").set("vhost", vhost).set("engine", ingest.name);
        auto url = TRY(::rtmp::parse_any_url(variables.expand(ingest.output())), "output");
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

void add_ingest_rows(std::vector<config::Row>& rows) {
    using namespace config;
    using I = Ingest;
    const auto find = [](const auto& root) -> decltype(auto) {
        return (root.vhost->template get<VhostIngests>().draft);
    };
    const Scope ingest{"vhost/ingest", find};
    rows.push_back(row(ingest, "enabled", &I::enabled, none(), kLive,
                       "Pulls a stream from a camera, another server or a file and publishes it, see doc/rtsp.md and "
                       "doc/transcode.md."));
    rows.push_back(row(ingest, "stream", &I::stream, none(), kLive,
                       "The stream that is published, APP/STREAM. Without it the one of the engine's output, or "
                       "live/ and the name of the ingest.",
                       "live/camera"));
    rows.push_back(row(ingest, "ffmpeg", &I::ffmpeg, none(), kLive,
                       "FFmpeg, which pulls what the server cannot pull itself. Without it ffmpeg of PATH.",
                       "./objs/ffmpeg/bin/ffmpeg"));
    const Scope input{"vhost/ingest/input", find};
    rows.push_back(
        row(input, "type", &I::type, one_of({"file", "stream", "rtsp", "udp", "srt"}), kLive,
            "file: played in real time, again and again; stream: a URL; rtsp: a camera; udp: a transport stream in "
            "datagrams; srt: a server of SRT, which is called."));
    rows.push_back(row(input, "url", &I::url, none(), kLive,
                       "The file or the URL. RTSP: rtsp://USER:PASSWORD@HOST:PORT/PATH, or rtsps://; special "
                       "characters of user and password are percent-encoded. UDP: udp://HOST:PORT, an address of this "
                       "machine or a multicast group, with the parameters interface and source. SRT: "
                       "srt://HOST:PORT?streamid=...&passphrase=...&latency=...",
                       "rtsp://viewer:secret@192.0.2.7/stream1"));
    rows.push_back(row(input, "on_demand", &I::on_demand, none(), kLive,
                       "RTSP and SRT: pulls only while there are players. A player that comes first waits for the "
                       "stream."));
    const Scope engine{"vhost/ingest/engine", [](const auto& root) -> decltype(auto) {
                           return (root.vhost->template get<VhostIngests>().draft_engine);
                       }};
    rows.push_back(row(engine, "output", &IngestEngine::output, none(), kLive,
                       "Where the stream is published; if the server pulls it itself, only its app and stream count.",
                       "rtmp://127.0.0.1:[port]/live/camera?vhost=[vhost]"));
}

std::vector<config::NamedBlock> ingest_blocks() {
    return {{.path = kEngine, .keep = keep_engine}, {.path = kIngest, .keep = keep_ingest, .text = text_of}};
}

}  // namespace service
