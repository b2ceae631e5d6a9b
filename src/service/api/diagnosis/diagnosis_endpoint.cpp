#include "service/api/diagnosis/diagnosis_endpoint.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/json.h"
#include "runtime/loop/clock.h"
#include "service/api/diagnosis/stream_diagnosis.h"
#include "service/api/lists/statistics.h"

namespace service::api {

namespace {

Json check_json(const Check& check) {
    Json figure = nullptr;
    if (check.figure) figure = std::round(*check.figure * 1000) / 1000;
    return {{"name", check.name},          {"verdict", verdict_name(check.verdict)},
            {"figure", std::move(figure)}, {"unit", check.unit},
            {"text", check.text},          {"advice", check.advice}};
}

}  // namespace

std::vector<Endpoint> DiagnosisEndpoint::endpoints() {
    Endpoints<DiagnosisEndpoint> rows(*this);
    rows.get("/api/v1/streams/{id}/explain",
             "what is odd about a stream: named checks, each with a verdict, a figure and an advice",
             "stream{id:str vhost:str app:str name:str} verdict:str "
             "checks[name:str verdict:str figure:num|null unit:str text:str advice:str]",
             &DiagnosisEndpoint::explain_stream)
        .failures = {{404, "it is not there"}};
    return rows.take();
}

std::vector<OutputProblem> DiagnosisEndpoint::output_problems(const live::Stream& stream) const {
    std::vector<OutputProblem> all = failures_.of(stream.key(), stream.health().started_ms());
    for (const auto& problems_of : context_.offers.output_problems)
        std::ranges::move(problems_of(stream.key()), std::back_inserter(all));
    return all;
}

base::Result<void> DiagnosisEndpoint::explain_stream(Request& request, Response& response) {
    live::StreamKey key;
    base::Ref<live::Stream> stream;
    const std::string id(request.capture("id"));
    if (statistics_.find_stream(id, key)) stream = context_.registry.find(key);
    if (!stream) return send_failure(response, context_.identity, 404, "there is no such stream");
    const config::SnapshotPtr snapshot = context_.snapshot;
    const config::Vhost* vhost = snapshot->find_vhost(key.vhost);
    const live::PublicationOwner* publisher = stream->publisher();
    const std::vector<Check> checks =
        diagnose({.health = stream->health(),
                  .tracks = *stream->tracks(),
                  .counters = stream->counters(),
                  .hls_fragment = vhost ? statistics_.fragment(*vhost, "hls") : std::nullopt,
                  .published = stream->published(),
                  .gop_too_long = stream->gop_too_long(),
                  .now_ms = runtime::now_ms(),
                  .unpublished_since_ms = stream->unpublished_since_ms(),
                  .jumped_at_ms = stream->jumped_at_ms(),
                  .viewers = stream->demand(),
                  .faults = publisher ? publisher->input_faults() : nullptr,
                  .outputs = output_problems(*stream)});
    Json list = Json::array();
    for (const Check& check : checks) list.push_back(check_json(check));
    return send_fields(response, context_.identity,
                       {{"stream", {{"id", id}, {"vhost", key.vhost}, {"app", key.app}, {"name", key.name}}},
                        {"verdict", verdict_name(worst(checks))},
                        {"checks", std::move(list)}});
}

}  // namespace service::api
