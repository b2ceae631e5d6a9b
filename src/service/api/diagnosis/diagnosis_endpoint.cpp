#include "service/api/diagnosis/diagnosis_endpoint.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "protocol/http/url.h"
#include "runtime/loop/cpu_slice.h"
#include "service/api/diagnosis/verdicts.h"
#include "service/api/earlier/answers.h"
#include "service/api/earlier/earlier.h"
#include "service/api/lists/listing.h"
#include "service/api/lists/statistics.h"

namespace service::api {

namespace {

Json check_json(const Check& check) {
    return {{"name", check.name},
            {"verdict", verdict_name(check.verdict)},
            {"figure", figure_json(check.figure)},
            {"unit", check.unit},
            {"text", check.text},
            {"advice", check.advice}};
}

Json id_json(std::string_view id, const live::StreamKey& key) {
    return {{"id", id}, {"vhost", key.vhost}, {"app", key.app}, {"name", key.name}};
}

Json incident_json(const Incident& incident) {
    return {{"stream", id_json(incident.stream_id, incident.stream)},
            {"kind", Incident::kind_name(incident.kind)},
            {"from_ms", incident.from_ms},
            {"to_ms", incident.to_ms == 0 ? Json(nullptr) : Json(incident.to_ms)},
            {"players_before", incident.players_before},
            {"players_after", incident.players_after},
            {"output", incident.output},
            {"text", incident.text}};
}

constexpr size_t kMaxKeyBytes = 4 * 1024, kMaxOutputBytes = 64;  // of what another process says

// Of what that makes; nothing: it is none.
std::optional<Incident> read_incident(const Json& json) {
    const auto text = [](const Json& object, const char* name) {
        const auto found = object.is_object() ? object.find(name) : object.end();
        return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    const auto number = [&](const char* name) {
        const auto found = json.find(name);
        return found != json.end() && found->is_number_unsigned() ? found->get<int64_t>() : 0;
    };
    if (!json.is_object() || !json.contains("stream")) return std::nullopt;
    const Json& stream = json["stream"];
    Incident incident{.stream = {text(stream, "vhost"), text(stream, "app"), text(stream, "name")},
                      .kind = Incident::Kind::kOutputFailed,
                      .from_ms = number("from_ms"),
                      .to_ms = number("to_ms"),
                      .players_before = static_cast<size_t>(number("players_before")),
                      .players_after = static_cast<size_t>(number("players_after")),
                      .output = text(json, "output"),
                      .text = text(json, "text")};
    if (text(json, "kind") == Incident::kind_name(Incident::Kind::kPublisherGone))
        incident.kind = Incident::Kind::kPublisherGone;
    const int64_t now_ms = base::wall_ms();
    const auto is_time = [&](int64_t ms) { return ms > 0 && ms <= now_ms; };
    const size_t bytes = incident.stream.vhost.size() + incident.stream.app.size() + incident.stream.name.size();
    if (incident.stream.vhost.empty() || incident.stream.name.empty() || bytes > kMaxKeyBytes ||
        incident.output.size() > kMaxOutputBytes || !is_time(incident.from_ms) ||
        (incident.to_ms != 0 && !is_time(incident.to_ms)))
        return std::nullopt;
    return incident;
}

}  // namespace

std::vector<Endpoint> DiagnosisEndpoint::endpoints() {
    Endpoints<DiagnosisEndpoint> rows(*this);
    rows.get("/api/v1/streams/{id}/explain",
             "what is odd about a stream: named checks, each with a verdict, a figure and an advice",
             "stream{id:str vhost:str app:str name:str} verdict:str level:str "
             "checks[name:str verdict:str figure:num|null unit:str text:str advice:str]",
             &DiagnosisEndpoint::explain_stream)
        .failures = {{404, "it is not there"}};
    Endpoint& incidents = rows.get(
        "/api/v1/incidents",
        "what has happened to streams within a day, also to those that ended, the newest first: their publishers were "
        "gone, outputs failed",
        "total:int incidents[stream{id:str vhost:str app:str name:str} kind:str from_ms:int to_ms:int|null "
        "players_before:int players_after:int output:str text:str]",
        &DiagnosisEndpoint::list_incidents);
    incidents.of_both = {.lists = {{.name = "incidents", .newest = "from_ms"}}, .sums = {"total"}};
    incidents.parameters = page_parameters();
    incidents.parameters.push_back({.name = "stream", .doc = "those of the stream with this id alone"});
    return rows.take();
}

base::Result<void> DiagnosisEndpoint::explain_stream(Request& request, Response& response) {
    const std::string id(request.capture("id"));
    Json there = TRY(earlier_.answer(request, fmt::format("/api/v1/streams/{}/explain", http::percent_encode(id, ""))));
    live::StreamKey key;
    base::Ref<live::Stream> stream;
    if (statistics_.find_stream(id, key)) stream = context_.registry.find(key);
    if (!stream && !there.is_null()) return send_json(response, there);
    if (!stream) return send_failure(response, context_.identity, 404, "there is no such stream");
    const std::vector<Check> checks = verdicts_.checks_of(*stream);
    Json list = Json::array();
    for (const Check& check : checks) list.push_back(check_json(check));
    Json answer = envelope(context_.identity);
    answer["stream"] = id_json(id, key);
    answer["verdict"] = verdict_name(worst(checks));
    answer["level"] = kVerdictLevels[static_cast<size_t>(verdict_of(checks).level)];
    answer["checks"] = std::move(list);
    if (!there.is_null()) merge_explained(answer, std::move(there), context_.offers.other_process->publishes(key));
    return send_json(response, answer);
}

void DiagnosisEndpoint::read_earlier() {
    const auto answer = earlier_.answer(fmt::format("/api/v1/incidents?count={}", Page::kMaxCount));
    if (!answer || !answer->is_object() || !answer->contains("incidents") || !(*answer)["incidents"].is_array()) return;
    runtime::CpuSlice slice;
    for (const Json& one : (*answer)["incidents"]) {
        if (auto incident = read_incident(one)) incidents_.adopt(*std::move(incident));
        if (!slice.step()) return;
    }
}

base::Result<void> DiagnosisEndpoint::list_incidents(Request& request, Response& response) {
    const std::string_view stream = request.message.parameter("stream");
    List<Incidents::Ptr> list(request, context_.identity, "incidents");
    for (Incidents::Ptr& incident : incidents_.newest(stream)) TRY(list.add(std::move(incident)));
    return list.send(response, [&](const Incidents::Ptr& incident) { return incident_json(*incident); });
}

}  // namespace service::api
