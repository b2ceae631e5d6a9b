#include "server/why/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace server::why {
namespace {

using base::Json;
using base::OrderedJson;

Verdict verdict_of(const Diagnosis& diagnosis) {
    const bool fails = !diagnosis.error.empty() || (diagnosis.played && !diagnosis.played->error.empty());
    return fails ? Verdict::kBad : worst(diagnosis.findings);
}

OrderedJson json_of(const Finding& finding) {
    return {{"check", finding.check},  {"verdict", service::verdict_name(finding.verdict)},
            {"text", finding.text},    {"line", finding.line},
            {"where", finding.where},  {"url", finding.url},
            {"advice", finding.advice}};
}

OrderedJson json_of(const Played& played) {
    const int64_t ms = std::max<int64_t>(played.took_ms, 1);
    return {{"error", played.error},
            {"not_tried", played.not_tried},
            {"first_frame_ms", played.first_frame_ms},
            {"video_frames", played.video_frames},
            {"audio_frames", played.audio_frames},
            {"kbps", static_cast<int64_t>(played.bytes * 8) / ms},
            {"codecs", played.codecs}};
}

std::string text_of(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int64_t number_of(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_number() ? found->get<int64_t>() : 0;
}

std::string_view word_of(std::string_view verdict) { return verdict == "bad" ? "BAD" : verdict; }

constexpr std::string_view kIndent = "                               ";

void add_row(std::string& out, std::string_view verdict, std::string_view check, std::string_view text) {
    out += fmt::format("{:<7} {:<22} {}\n", word_of(verdict), check, text);
}

void add_finding(std::string& out, const Json& finding) {
    add_row(out, text_of(finding, "verdict"), text_of(finding, "check"), text_of(finding, "text"));
    const std::string line = text_of(finding, "line"), where = text_of(finding, "where");
    if (!line.empty()) out += fmt::format("{}-> {}\n", kIndent, line);
    if (!where.empty()) out += fmt::format("{}   {}\n", kIndent, where);
    for (const char* name : {"url", "advice"})
        if (const std::string text = text_of(finding, name); !text.empty())
            out += fmt::format("{}{}{}\n", kIndent, *name == 'u' ? "-> " : "   ", text);
}

void add_played(std::string& out, const Json& played) {
    const std::string error = text_of(played, "error"), not_tried = text_of(played, "not_tried");
    if (!not_tried.empty()) return add_row(out, "unknown", "playing", "not tried: " + not_tried);
    if (!error.empty()) return add_row(out, "bad", "playing", error);
    add_row(out, "ok", "playing",
            fmt::format("{} video and {} audio frames, {} kbit/s, the first after {} ms; {}",
                        number_of(played, "video_frames"), number_of(played, "audio_frames"), number_of(played, "kbps"),
                        number_of(played, "first_frame_ms"), text_of(played, "codecs")));
}

}  // namespace

OrderedJson to_json(const Diagnosis& diagnosis) {
    OrderedJson findings = OrderedJson::array();
    if (!diagnosis.error.empty())
        findings.push_back(json_of({.check = diagnosis.is_left_out ? "protocol" : "url",
                                    .verdict = Verdict::kBad,
                                    .text = diagnosis.error,
                                    .advice = diagnosis.is_left_out ? "the server has to be built with it" : ""}));
    for (const Finding& finding : diagnosis.findings) findings.push_back(json_of(finding));
    OrderedJson target = nullptr;
    if (diagnosis.target)
        target = {{"protocol", name_of(*diagnosis.target)},
                  {"action", net::action_name(diagnosis.target->action)},
                  {"vhost", diagnosis.vhost},
                  {"app", diagnosis.target->app},
                  {"stream", diagnosis.target->stream}};
    return {{"verdict", service::verdict_name(verdict_of(diagnosis))},
            {"source", diagnosis.source},
            {"target", std::move(target)},
            {"findings", std::move(findings)},
            {"played", diagnosis.played ? json_of(*diagnosis.played) : OrderedJson(nullptr)}};
}

std::string report(const Json& answer) {
    std::string out;
    if (!answer.is_object() || !answer.contains("findings") || !answer["findings"].is_array()) return out;
    if (const auto target = answer.find("target"); target != answer.end() && target->is_object())
        out += fmt::format("{} {} of {}/{} in vhost {}, by {}\n", text_of(*target, "protocol"),
                           text_of(*target, "action"), text_of(*target, "app"), text_of(*target, "stream"),
                           text_of(*target, "vhost").empty() ? "(none)" : text_of(*target, "vhost"),
                           text_of(answer, "source"));
    size_t bad = 0;
    for (const Json& finding : answer["findings"]) {
        if (!finding.is_object()) continue;
        add_finding(out, finding);
        bad += text_of(finding, "verdict") == "bad";
    }
    if (const auto played = answer.find("played"); played != answer.end() && played->is_object()) {
        add_played(out, *played);
        bad += !text_of(*played, "error").empty();
    }
    return out + (bad == 0 ? "nothing is in the way\n" : fmt::format("{} found\n", bad));
}

bool has_bad(const Json& answer) { return !answer.is_object() || text_of(answer, "verdict") == "bad"; }

}  // namespace server::why
