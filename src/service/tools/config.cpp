#include "service/tools/config.h"

#include <fmt/format.h>

#include <utility>

#include "config/path_variables.h"
#include "config/row_builder.h"
#include "protocol/sdp/session/control.h"
#include "service/ingest.h"
#include "service/tools/command.h"

namespace service::tools {
namespace {

// See Variables::expand().
constexpr std::string_view kVariables[] = {"port",  "engine", "vhost", "app",    "stream",
                                           "param", "url",    "tcUrl", "swfUrl", "pageUrl"};
constexpr std::string_view kTranscode = "vhost/transcode", kEngine = "vhost/transcode/engine";

template <class Scope>
void add_encoder_rows(std::vector<config::Row>& rows, const Scope& scope) {
    using namespace config;
    using E = Encoder;
    constexpr int kMost = 1'000'000;
    rows.push_back(row(scope, "iformat", &E::iformat, none(), kLive,
                       "Format of an input of RTMP; off: FFmpeg finds it out itself."));
    rows.push_back(row(scope, "vcodec", &E::vcodec, none(), kLive,
                       "Video encoder of FFmpeg; copy: the video is passed on as it is; vn: no video.", "libx264"));
    rows.push_back(row(scope, "vbitrate", &E::vbitrate, count(0, kMost), kLive,
                       "Video bit rate, kbit/s; 0: that of the encoder."));
    rows.push_back(row(scope, "vfps", &E::vfps, count(0, 1000), kLive, "Frames per second; 0: those of the input."));
    rows.push_back(row(scope, "vwidth", &E::vwidth, count(0, 16'384), kLive,
                       "Width of the video, made even; 0, or without vheight: that of the input."));
    rows.push_back(row(scope, "vheight", &E::vheight, count(0, 16'384), kLive,
                       "Height of the video, made even; 0, or without vwidth: that of the input."));
    rows.push_back(
        row(scope, "vthreads", &E::vthreads, count(0, 1024), kLive, "Threads of the video encoder; 0: as it chooses."));
    rows.push_back(row(scope, "vprofile", &E::vprofile, none(), kLive, "Profile of the video.", "main"));
    rows.push_back(row(scope, "vpreset", &E::vpreset, none(), kLive, "Preset of the video encoder.", "medium"));
    rows.push_back(row(scope, "acodec", &E::acodec, none(), kLive,
                       "Audio encoder of FFmpeg; copy: the audio is passed on as it is; an: no audio.", "aac"));
    rows.push_back(row(scope, "abitrate", &E::abitrate, count(0, kMost), kLive,
                       "Audio bit rate, kbit/s; 0: that of the encoder."));
    rows.push_back(row(scope, "asample_rate", &E::asample_rate, count(0, kMost), kLive,
                       "Audio samples per second; 0: those of the input."));
    rows.push_back(
        row(scope, "achannels", &E::achannels, count(0, 64), kLive, "Audio channels; 0: those of the input."));
    rows.push_back(
        row(scope, "oformat", &E::oformat, none(), kLive, "Format of the output; off: FFmpeg finds it out itself."));
}

void add_ingest_engine_rows(std::vector<config::Row>& rows) {
    using namespace config;
    add_ingest_rows(rows);
    const Scope engine{"vhost/ingest/engine", [](const auto& root) -> decltype(auto) {
                           return (root.vhost->template get<VhostIngests>().draft_engine);
                       }};
    rows.push_back(row(engine, "enabled", &IngestEngine::enabled, none(), kLive,
                       "The engine encodes; off: video and audio are passed on as they are."));
    add_encoder_rows(rows, Scope{"vhost/ingest/engine", [](const auto& root) -> decltype(auto) {
                                     auto& ingests = root.vhost->template get<VhostIngests>();
                                     return (ingests.draft_engine.parts.template get<Encoder>());
                                 }});
}

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope global{"", kOfServer<ServerConfig>};
    rows.push_back(row(global, "ff_log_dir", &ServerConfig::ff_log_dir, none(), kLive,
                       "Directory of the logs of external tools; /dev/null: they have none."));
    rows.push_back(row(global, "ff_log_level", &ServerConfig::ff_log_level, none(), kLive,
                       "Log level of FFmpeg: quiet, panic, fatal, error, warning, info, verbose, debug, trace."));
    rows.push_back(row(global, "max_tools", &ServerConfig::max_tools, count(0, 1000), kLive,
                       "How many external tools may run at once: of exec, ingest and transcode together."));
    const Scope exec{"vhost/exec", kOfVhost<ExecConfig>};
    rows.push_back(row(exec, "enabled", &ExecConfig::enabled, none(), kLive,
                       "Runs programs while streams are published, see doc/transcode.md."));
    rows.push_back(list_row(exec, "publish", &ExecConfig::publish, kLive,
                            "A program that runs while a stream is published, with its arguments; without a shell.",
                            "./objs/ffmpeg/bin/ffmpeg -f flv -i [url] -c copy -y ./[stream].flv"));
    const Scope transcode{kTranscode.data(), [](const auto& root) -> decltype(auto) {
                              return (root.vhost->template get<VhostTranscodes>().draft);
                          }};
    using T = Transcode;
    rows.push_back(row(transcode, "enabled", &T::enabled, none(), kLive,
                       "Transcodes streams by FFmpeg: those of the vhost, of `transcode APP` or of `transcode "
                       "APP/STREAM`; see doc/transcode.md."));
    rows.push_back(row(transcode, "ffmpeg", &T::ffmpeg, none(), kLive, "FFmpeg. Without it ffmpeg of PATH.",
                       "./objs/ffmpeg/bin/ffmpeg"));
    rows.push_back(row(transcode, "ladder", &T::ladder, none(), kLive,
                       "Engines with the same input options share a process, which decodes once and sets the "
                       "keyframes of all at the same frames; off: a process for each."));
    rows.push_back(row(transcode, "keyframe_interval", &T::keyframe_interval, count(0, 60), kLive,
                       "Distance of the keyframes of a ladder, s; 0: as the encoders choose."));
    const Scope engine{kEngine.data(), [](const auto& root) -> decltype(auto) {
                           return (root.vhost->template get<VhostTranscodes>().draft_engine);
                       }};
    rows.push_back(row(engine, "enabled", &Engine::enabled, none(), kLive, "One output of FFmpeg."));
    rows.push_back(row(engine, "output", &Engine::output, none(), kLive,
                       "Where it is published: [vhost] [port] [app] [stream] [param] [engine] are replaced.",
                       "rtmp://127.0.0.1:[port]/[app]/[stream]_[engine]?vhost=[vhost]"));
    add_encoder_rows(rows, Scope{kEngine.data(), [](const auto& root) -> decltype(auto) {
                                     return (root.vhost->template get<VhostTranscodes>().draft_engine.encoder);
                                 }});
    add_ingest_engine_rows(rows);
}

// ---- Blocks

void keep_engine(config::Vhost& vhost, const std::string& name, const config::Location&) {
    auto& transcodes = vhost.get<VhostTranscodes>();
    const std::string text = config::draft_text(kEngine, vhost, sdp::without_credentials);
    Engine& added = transcodes.draft.engines.emplace_back(std::exchange(transcodes.draft_engine, {}));
    added.name = name;
    added.text = text + added.text;
}

void keep_transcode(config::Vhost& vhost, const std::string& name, const config::Location& location) {
    auto& transcodes = vhost.get<VhostTranscodes>();
    const std::string text = config::draft_text(kTranscode, vhost, sdp::without_credentials);
    Transcode& added = transcodes.all.emplace_back(std::exchange(transcodes.draft, {}));
    added.scope = name;
    added.location = location;
    added.text = text;
}

std::string text_of(const config::Vhost& vhost) {
    std::string text;
    for (const Transcode& transcode : vhost.get<VhostTranscodes>().all) {
        if (!transcode.enabled) continue;
        text += fmt::format("{}{} ({}", text.empty() ? "" : ", ", transcode.scope.empty() ? "*" : transcode.scope,
                            transcode.text);
        for (const Engine& engine : transcode.engines) text += fmt::format(", engine {}: {}", engine.name, engine.text);
        text += ')';
    }
    return text;
}

// Adds an option to a free block, and to the text of the engine that it belongs to.
void add_option(Options& options, std::string& text, std::string_view block, const std::string& name,
                config::Words words) {
    Option& option = options.emplace_back(Option{name});
    text += fmt::format(", {} {}", block, name);
    for (const std::string& word : words) {
        option.push_back(word);
        text += ' ' + sdp::without_credentials(word);
    }
}

template <Options Encoder::*kOptions>
config::FreeBlock of_transcode(std::string_view path) {
    return {path, [](config::Vhost& vhost, const std::string& name, config::Words words) {
                auto& engine = vhost.get<VhostTranscodes>().draft_engine;
                add_option(engine.encoder.*kOptions, engine.text, "option", name, words);
            }};
}
template <Options Encoder::*kOptions>
config::FreeBlock of_ingest(std::string_view path) {
    return {path, [](config::Vhost& vhost, const std::string& name, config::Words words) {
                auto& engine = vhost.get<VhostIngests>().draft_engine;
                add_option(engine.parts.get<Encoder>().*kOptions, engine.text, "option", name, words);
            }};
}

// ---- Checks

// Labels of FFmpeg's filters and streams have brackets, too: [out].
bool takes_labels(std::string_view option) {
    return option.find("filter") != option.npos || option == "-lavfi" || option == "-vf" || option == "-af" ||
           option == "-map";
}

void check_variables(config::Checks& checks, const config::Vhost& vhost, const Command& command) {
    constexpr const char* kPublish = "vhost/exec/publish";
    std::string_view before;
    for (const std::string& word : command.words) {
        if (!takes_labels(before)) checks.check_variables(vhost, kPublish, word, kVariables);
        before = word;
    }
    checks.check_variables(vhost, kPublish, command.output_file, kVariables);
    checks.check_variables(vhost, kPublish, command.error_file, kVariables);
}

void check_exec(config::Checks& checks, config::Vhost& vhost) {
    const auto& exec = vhost.get<ExecConfig>();
    for (const auto& words : exec.publish)
        if (auto command = parse_command(words); !command)
            checks.error(vhost, "vhost/exec/publish", "publish: " + command.error().text());
        else if (exec.enabled)
            check_variables(checks, vhost, *command);
    if (exec.enabled && exec.publish.empty())
        checks.warning(vhost, "vhost/exec/enabled", "exec is enabled without a publish");
}

// What is incomplete is left out, as SRS does it.
void check_transcodes(config::Checks& checks, config::Vhost& vhost) {
    for (const Transcode& transcode : vhost.get<VhostTranscodes>().all) {
        if (!transcode.enabled) continue;
        const std::string what = transcode.scope.empty() ? "transcode" : "transcode " + transcode.scope;
        bool any = false;
        for (const Engine& engine : transcode.engines) {
            if (!engine.enabled) continue;
            any = true;
            if (engine.output.empty())
                checks.warning(transcode.location,
                               fmt::format("{}: the engine '{}' has no output, and is left out", what, engine.name));
            if (const auto unknown = config::unknown_variable(engine.output, kVariables); !unknown.empty())
                checks.warning(transcode.location, fmt::format("{}: the output of the engine '{}' has {}, which is no "
                                                               "variable and stays as it is",
                                                               what, engine.name, unknown));
        }
        if (!any) checks.warning(transcode.location, what + " has no enabled engine");
    }
}

void check_ingests(config::Checks& checks, config::Vhost& vhost) {
    for (const Ingest& ingest : vhost.get<VhostIngests>().all) {
        if (!ingest.enabled || puller_of(ingest) != IngestPuller::kTool) continue;
        const std::string what = ingest.name.empty() ? "ingest" : "ingest " + ingest.name;
        if (ingest.url.empty()) checks.warning(ingest.location, what + ": its input has no url, and it is left out");
        if (auto stream = ingested_stream(ingest, vhost.name); !stream && ingest.output().empty())
            checks.warning(ingest.location, fmt::format("{} is left out: {}", what, stream.error().text()));
    }
}

void check_vhost(config::Checks& checks, config::Vhost& vhost) {
    check_exec(checks, vhost);
    check_transcodes(checks, vhost);
    check_ingests(checks, vhost);
}

}  // namespace

std::string ffmpeg_of(const std::string& directive) { return directive.empty() ? "ffmpeg" : directive; }

config::Section section() {
    std::vector<config::NamedBlock> named{{.path = kEngine, .keep = keep_engine},
                                          {.path = kTranscode, .keep = keep_transcode, .text = text_of}};
    for (const config::NamedBlock& block : ingest_blocks()) named.push_back(block);
    return {.service = "tools",
            .add_rows = add_rows,
            .named_blocks = std::move(named),
            .free_blocks = {of_transcode<&Encoder::perfile>("vhost/transcode/engine/perfile"),
                            of_transcode<&Encoder::vfilter>("vhost/transcode/engine/vfilter"),
                            of_transcode<&Encoder::vparams>("vhost/transcode/engine/vparams"),
                            of_transcode<&Encoder::aparams>("vhost/transcode/engine/aparams"),
                            of_ingest<&Encoder::perfile>("vhost/ingest/engine/perfile"),
                            of_ingest<&Encoder::vfilter>("vhost/ingest/engine/vfilter"),
                            of_ingest<&Encoder::vparams>("vhost/ingest/engine/vparams"),
                            of_ingest<&Encoder::aparams>("vhost/ingest/engine/aparams")},
            .check_vhost = check_vhost};
}

}  // namespace service::tools
