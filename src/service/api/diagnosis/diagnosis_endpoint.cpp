#include "service/api/diagnosis/diagnosis_endpoint.h"

#include "base/json.h"
#include "service/api/diagnosis/verdicts.h"
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
    incidents.parameters = page_parameters();
    incidents.parameters.push_back({.name = "stream", .doc = "those of the stream with this id alone"});
    return rows.take();
}

base::Result<void> DiagnosisEndpoint::explain_stream(Request& request, Response& response) {
    live::StreamKey key;
    base::Ref<live::Stream> stream;
    const std::string id(request.capture("id"));
    if (statistics_.find_stream(id, key)) stream = context_.registry.find(key);
    if (!stream) return send_failure(response, context_.identity, 404, "there is no such stream");
    const std::vector<Check> checks = verdicts_.checks_of(*stream);
    Json list = Json::array();
    for (const Check& check : checks) list.push_back(check_json(check));
    return send_fields(response, context_.identity,
                       {{"stream", id_json(id, key)},
                        {"verdict", verdict_name(worst(checks))},
                        {"level", kVerdictLevels[static_cast<size_t>(verdict_of(checks).level)]},
                        {"checks", std::move(list)}});
}

base::Result<void> DiagnosisEndpoint::list_incidents(Request& request, Response& response) {
    const std::string_view stream = request.message.parameter("stream");
    List<Incidents::Ptr> list(request, context_.identity, "incidents");
    for (Incidents::Ptr& incident : incidents_.newest(stream)) TRY(list.add(std::move(incident)));
    return list.send(response, [&](const Incidents::Ptr& incident) { return incident_json(*incident); });
}

}  // namespace service::api
