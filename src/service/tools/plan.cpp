#include "service/tools/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/result.h"
#include "config/listeners.h"
#include "config/path_variables.h"
#include "net/access/gate.h"
#include "net/access/signed_urls.h"
#include "protocol/rtmp/url.h"
#include "service/ingest.h"
#include "service/tools/command.h"
#include "service/tools/config.h"
#include "service/tools/ffmpeg.h"

namespace service::tools {

using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr std::string_view kNoLog = "/dev/null";

// The words as one text; different lists have different texts.
std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += fmt::format("{}:{}", word.size(), word);
    return text;
}

std::string base_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

std::string log_path(const config::Snapshot& snapshot, std::string_view kind, const base::StreamKey& stream) {
    const std::string& directory = snapshot.get<ServerConfig>().ff_log_dir;
    if (directory == kNoLog) return {};
    return fmt::format("{}/{}", directory.empty() ? "." : directory, log_name(kind, stream));
}

bool is_in_scope(const std::string& scope, const base::StreamKey& stream) {
    return scope.empty() || scope == stream.app || scope == stream.app + "/" + stream.name;
}

// ---- Signed URLs

// Where the vhost wants signed URLs: one for tools on this machine. They are valid from its address alone, so that it
// does no harm that other programs see it, and without an end in practice, because tools are started again and again.
std::string signature_for(net::Action action, const base::StreamKey& stream, const config::Snapshot& snapshot,
                          std::string_view ip) {
    constexpr std::string_view kExpires = "4102444800";  // 2100
    const config::Vhost* vhost = snapshot.find_vhost(stream.vhost);
    if (!vhost || !vhost->signed_urls.enabled || vhost->signed_urls.secret.empty()) return {};
    const config::VhostSignedUrls& options = vhost->signed_urls;
    if (!(action == net::Action::kPublish ? options.publish : options.play)) return {};
    net::Visitor visitor;
    visitor.action = action;
    visitor.vhost = stream.vhost;
    visitor.app = stream.app;
    visitor.stream = stream.name;
    return fmt::format("expires={}&ip={}&sign={}", kExpires, ip,
                       net::sign_url(options.secret.front(), visitor, kExpires, ip));
}

// The source of a connection to an address of this machine.
std::string source_of(std::string host) {
    if (host == "localhost" || host.starts_with("127.")) return "127.0.0.1";
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    return host;
}

// A URL to which a tool publishes here, with a signature if it needs one and has none.
std::string signed_output(std::string url, const base::StreamKey& stream, const config::Snapshot& snapshot) {
    const auto parsed = ::rtmp::parse_any_url(url);
    if (!parsed || url.find("sign=") != url.npos) return url;
    const std::string signature = signature_for(net::Action::kPublish, stream, snapshot, source_of(parsed->host));
    if (signature.empty()) return url;
    const bool has_parameters = url.find('?', url.rfind('/')) != url.npos;
    return url + (has_parameters ? "&" : "?") + signature;
}

// ---- Exec

Result<Job> plan_exec(const config::Snapshot& snapshot, const std::vector<std::string>& words, const StreamNames& names,
                      const Machine& machine) {
    const Command command = TRY(parse_command(words));
    const Variables variables(names, {});
    Job job{.kind = Kind::kExec, .name = base_name(command.words[0]), .stream = names.key};
    for (const std::string& word : command.words) {
        job.arguments.push_back(TRY(variables.argument(word)));
        const auto made = own_stream(job.arguments.back(), snapshot, machine);
        if (made && *made != names.key) job.makes.push_back(*made);
    }
    job.log_file = log_path(snapshot, "exec-" + config::safe_part(job.name), names.key);
    job.output_file = command.output_file.empty() ? job.log_file : TRY(variables.path(command.output_file));
    if (!command.error_file.empty())
        job.error_file = TRY(variables.path(command.error_file));
    else if (!command.error_to_output && !command.output_file.empty())
        job.error_file = job.log_file.empty() ? std::string(kNoLog) : job.log_file;
    job.text = fmt::format("exec {} {} {}", names.key.text(), joined(words), job.log_file);
    return job;
}

// ---- FFmpeg

struct PlannedEngine {
    const Encoder* encoder;  // null: none is configured
    std::string name;
    std::string url;
    bool copies = false;
};

// Engines that become outputs of one process.
std::vector<std::vector<PlannedEngine>> processes(std::vector<PlannedEngine> engines, bool ladder) {
    std::vector<std::vector<PlannedEngine>> all;
    for (PlannedEngine& engine : engines) {
        const auto fits = [&](const std::vector<PlannedEngine>& process) {
            return ladder && process[0].encoder && engine.encoder &&
                   has_same_input(*process[0].encoder, *engine.encoder);
        };
        auto found = std::ranges::find_if(all, fits);
        if (found == all.end()) found = all.insert(found, std::vector<PlannedEngine>());
        found->push_back(std::move(engine));
    }
    return all;
}

void add_ffmpeg(Job job, const config::Snapshot& snapshot, const std::string& program, const FfmpegInput& input,
                const std::vector<PlannedEngine>& engines, double keyframe_interval, Plan& plan) {
    std::vector<Output> outputs;
    for (const PlannedEngine& engine : engines) {
        outputs.push_back({engine.encoder, engine.url, engine.copies});
        if (!engine.name.empty()) job.engines.push_back(engine.name);
    }
    job.arguments =
        ffmpeg_arguments(program, snapshot.get<ServerConfig>().ff_log_level, input, outputs, keyframe_interval);
    job.log_file = log_path(snapshot, fmt::format("ffmpeg-{}", kind_name(job.kind)), job.stream);
    job.output_file = job.log_file;
    job.text = fmt::format("{} {} {} {}", kind_name(job.kind), job.stream.text(), joined(job.arguments), job.log_file);
    plan.jobs.push_back(std::move(job));
}

Result<void> plan_transcode(const config::Snapshot& snapshot, const Transcode& transcode, const StreamNames& names,
                            const Machine& machine, Plan& plan) {
    // Refused if it could not be part of a URL; the output need not have all of these.
    TRY(Variables(names, {}).argument("rtmp://[vhost]/[app]/[stream]"));
    const FfmpegInput input{.url = names.input_url()};
    std::vector<PlannedEngine> engines;
    std::vector<base::StreamKey> makes;
    for (const Engine& engine : transcode.engines) {
        if (!engine.enabled || engine.output.empty()) continue;
        std::string url = TRY(Variables(names, engine.name).argument(engine.output));
        if (const auto made = own_stream(url, snapshot, machine)) {
            if (*made == names.key)
                return fail(Code::kConfig, fmt::format("engine {} publishes to its own input: a loop", engine.name));
            makes.push_back(*made);
            url = signed_output(std::move(url), *made, snapshot);
        }
        engines.push_back({&engine.encoder, engine.name, std::move(url)});
    }
    for (const auto& process : processes(std::move(engines), transcode.ladder)) {
        Job job{.kind = Kind::kTranscode,
                .name = transcode.scope.empty() ? "*" : transcode.scope,
                .stream = names.key,
                .makes = makes};
        add_ffmpeg(std::move(job), snapshot, ffmpeg_of(transcode.ffmpeg), input, process, transcode.keyframe_interval,
                   plan);
    }
    return {};
}

Result<void> plan_ingest(const config::Snapshot& snapshot, const Ingest& ingest, StreamNames names,
                         const Machine& machine, Plan& plan) {
    constexpr double kKeyframeInterval = 2;
    const std::string vhost = names.key.vhost;
    if (!ingest.stream.empty() || ingest.output().empty()) names.key = TRY(ingested_stream(ingest, vhost));
    std::vector<PlannedEngine> engines;
    const auto add = [&](const IngestEngine* engine) -> Result<void> {
        const std::string own =
            fmt::format("rtmp://{}:{}/{}/{}?vhost={}", names.host, names.port, names.key.app, names.key.name, vhost);
        const std::string_view name = engine ? engine->name : std::string_view();
        std::string url =
            engine && !engine->output.empty() ? TRY(Variables(names, name).argument(engine->output)) : own;
        if (const auto published = own_stream(url, snapshot, machine))
            url = signed_output(std::move(url), *published, snapshot);
        const Encoder* encoder = engine ? &engine->parts.get<Encoder>() : nullptr;
        // As in SRS: without codecs nothing is encoded.
        const bool copies = !engine || !engine->enabled || encoder->vcodec.empty() || encoder->acodec.empty();
        engines.push_back({encoder, std::string(name), std::move(url), copies});
        return {};
    };
    for (const IngestEngine& engine : ingest.engines) TRY(add(&engine));
    if (engines.empty()) TRY(add(nullptr));
    const FfmpegInput input{ingest.url, true, ingest.type == "file"};
    for (const auto& process : processes(std::move(engines), true)) {
        Job job{.kind = Kind::kIngest, .name = ingest.name, .stream = names.key};
        auto published = ::rtmp::parse_any_url(process[0].url);
        if (published)
            if (auto address = ::rtmp::resolve_stream(published->tc_url(), {}, published->stream))
                job.stream = {vhost, address->app, address->stream};
        add_ffmpeg(std::move(job), snapshot, ffmpeg_of(ingest.ffmpeg), input, process, kKeyframeInterval, plan);
    }
    return {};
}

}  // namespace

std::string_view kind_name(Kind kind) {
    return kind == Kind::kExec ? "exec" : kind == Kind::kIngest ? "ingest" : "transcode";
}

void set_server(StreamNames& names, const config::Snapshot& snapshot) {
    if (snapshot.rtmp.listen.empty()) return;
    const config::ListenAddress& address = snapshot.rtmp.listen.front();
    names.port = address.port;
    const std::string& host = address.host;
    if (host.empty() || host == "0.0.0.0" || host == "::") return;
    names.host = host.find(':') == host.npos ? host : fmt::format("[{}]", host);
}

std::optional<base::StreamKey> own_stream(std::string_view url, const config::Snapshot& snapshot,
                                          const Machine& machine) {
    // Others are inputs, or ways to publish that have the stream's name elsewhere.
    if (!url.starts_with("rtmp") && !url.starts_with("rtsp")) return std::nullopt;
    const auto parsed = ::rtmp::parse_any_url(url);
    if (!parsed) return std::nullopt;
    const std::string& host = parsed->host;
    bool is_port = false;
    bool is_host = host == "localhost" || host == "::1" || host.starts_with("127.") || host == "0.0.0.0" ||
                   machine.addresses.contains(host) || snapshot.find_vhost(host) != nullptr;
    config::for_each_address(snapshot, [&](const config::Listener&, const config::ListenAddress& address) {
        is_port = is_port || address.port == parsed->port;
        is_host = is_host || (!address.host.empty() && address.host == host);
    });
    if (!is_port || !is_host) return std::nullopt;
    const auto address = ::rtmp::resolve_stream(parsed->tc_url(), {}, parsed->stream);
    if (!address) return std::nullopt;
    const config::Vhost* vhost = snapshot.vhost(address->vhost);
    return base::StreamKey{vhost ? vhost->name : address->vhost, address->app, address->stream};
}

bool wants_tools(const config::Vhost& vhost, const base::StreamKey& stream) {
    const auto& exec = vhost.get<ExecConfig>();
    if (exec.enabled && !exec.publish.empty()) return true;
    return std::ranges::any_of(vhost.get<VhostTranscodes>().all, [&](const Transcode& transcode) {
        return transcode.enabled && is_in_scope(transcode.scope, stream);
    });
}

Plan plan_stream(const config::Snapshot& snapshot, const config::Vhost& vhost, const StreamNames& of_stream,
                 const Machine& machine) {
    Plan plan;
    StreamNames names = of_stream;
    names.signature = signature_for(net::Action::kPlay, names.key, snapshot, source_of(names.host));
    const auto& exec = vhost.get<ExecConfig>();
    if (exec.enabled)
        for (const auto& words : exec.publish) {
            if (auto job = plan_exec(snapshot, words, names, machine))
                plan.jobs.push_back(*std::move(job));
            else
                plan.problems.push_back(fmt::format("exec of {}: {}", names.key.text(), job.error().text()));
        }
    for (const Transcode& transcode : vhost.get<VhostTranscodes>().all) {
        if (!transcode.enabled || !is_in_scope(transcode.scope, names.key)) continue;
        if (auto done = plan_transcode(snapshot, transcode, names, machine, plan); !done)
            plan.problems.push_back(fmt::format("{} is not transcoded: {}", names.key.text(), done.error().text()));
    }
    return plan;
}

Plan plan_ingests(const config::Snapshot& snapshot, const config::Vhost& vhost, const StreamNames& names,
                  const Machine& machine) {
    Plan plan;
    StreamNames of_vhost = names;
    for (const Ingest& ingest : vhost.get<VhostIngests>().all) {
        if (!ingest.enabled || ingest.url.empty() || puller_of(ingest) != IngestPuller::kTool) continue;
        of_vhost.key = {vhost.name, "live", ingest.name};
        if (auto done = plan_ingest(snapshot, ingest, of_vhost, machine, plan); !done)
            plan.problems.push_back(fmt::format("ingest {}: {}", ingest.name, done.error().text()));
    }
    return plan;
}

}  // namespace service::tools
