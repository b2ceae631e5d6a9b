#include "service/api/table/openapi.h"

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/json.h"
#include "service/api/shape.h"

namespace service::api {

namespace {

struct Schema {
    const char* name;
    const char* shape;
};
constexpr const char* kEnvelope = "code:int server:str service:str pid:str";
constexpr Schema kSchemas[] = {
    {"Envelope", kEnvelope},
    {"Failure", "code:int server:str service:str pid:str error:str"},
    {"Vhost",
     "id:str name:str enabled:bool clients:int streams:int send_bytes:int recv_bytes:int "
     "kbps{recv_30s:int send_30s:int} hls{enabled:bool fragment?:num} dash{enabled:bool fragment?:num}"},
    {"Stream",
     "id:str name:str vhost:str app:str tcUrl:str url:str live_ms:int clients:int frames:int audio_frames:int "
     "video_frames:int send_bytes:int recv_bytes:int kbps{recv_30s:int send_30s:int} "
     "verdict{level:str code:str text:str advice:str figure:num|null unit:str} "
     "outputs?[output:str to:str state:str problem:str] publish{active:bool cid?:str} "
     "recording?:bool "
     "video{codec:str profile:str level:str width:int height:int}|null "
     "audio{codec:str sample_rate:int channel:int profile:str}|null "
     "tracks?[kind:str track:int codec:str language:str label:str] dropped_tracks?:int "
     "standbys?[cid:str ip:str priority:int state:str waiting_ms:int keyframe_age_ms?:int] hls_variant_of?:str "
     "memory{total:int limit:int gop:int mix_queue:int logs:int viewers:int rtp:int outputs:int releases:int}"},
    {"Session",
     "time:str|null id:str ip:str agent:str page:str token:str protocol:str type:str action:str vhost:str app:str "
     "stream:str started_ms:int ended_ms:int|null duration_ms:int received_bytes:int sent_bytes:int frames:int "
     "dropped:int skips:int skipped_bytes:int stalls:int stalled_ms:int last_stall:str|null first_frame_ms:int|null "
     "lost:int retransmitted:int reason:str text:str"},
    {"Client",
     "id:str vhost:str stream:str ip:str pageUrl:str swfUrl:str tcUrl:str url:str name:str type:str publish:bool "
     "alive:num send_bytes:int recv_bytes:int kbps{recv_30s:int send_30s:int} "
     "transport?:str standby?:bool rtc?{lost_percent:num rtt_ms:int|null jitter_ms:int nacks:int sent_again:int "
     "keyframes_asked:int "
     "remb_kbps:int sent?:str layer?:str estimate_kbps?:int playout_delay_ms?:int "
     "history?[sent:str estimate_kbps:int lost_percent:num rtt_ms:int]} "
     "srt?{lost_percent:num retransmitted_percent:num rtt_ms:int|null dropped:int latency_ms:int peer_version:str "
     "key_bits:int flight_bytes:int}"},
};

// "getApiV1StreamsId" of GET /api/v1/streams/{id}.
std::string operation_id(http::Method method, std::string_view pattern) {
    std::string out = base::lower(http::method_name(method));
    bool begins = true;
    for (const char c : pattern) {
        if (!isalnum(static_cast<unsigned char>(c))) {
            begins = true;
            continue;
        }
        out.push_back(begins && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
        begins = false;
    }
    return out;
}

Json parameter_json(const Parameter& parameter) {
    Json schema;
    switch (parameter.type) {
        case Parameter::Type::kText:
            schema["type"] = "string";
            break;
        case Parameter::Type::kInteger:
            schema["type"] = "integer";
            break;
        case Parameter::Type::kBoolean:
            schema["type"] = "boolean";
            break;
    }
    if (parameter.least) schema["minimum"] = *parameter.least;
    if (parameter.most) schema["maximum"] = *parameter.most;
    if (parameter.initial) schema["default"] = *parameter.initial;
    if (!parameter.choices.empty()) schema["enum"] = parameter.choices;
    const bool in_path = parameter.in == Parameter::In::kPath;
    Json out = {{"name", parameter.name}, {"in", in_path ? "path" : "query"}};
    if (!parameter.doc.empty()) out["description"] = parameter.doc;
    if (in_path || parameter.required) out["required"] = true;
    out["schema"] = std::move(schema);
    return out;
}

Json parameters_of(const Endpoint& row) {
    Json out = Json::array();
    std::string_view rest = row.pattern;
    for (size_t open = rest.find('{'); open != rest.npos; open = rest.find('{')) {
        const size_t close = rest.find('}', open);
        Parameter parameter;
        parameter.in = Parameter::In::kPath;
        parameter.name = rest.substr(open + 1, close - open - 1);
        out.push_back(parameter_json(parameter));
        rest.remove_prefix(close + 1);
    }
    for (const Parameter& parameter : row.parameters) out.push_back(parameter_json(parameter));
    return out;
}

Json content(std::string_view type, Json schema) { return {{std::string(type), {{"schema", std::move(schema)}}}}; }

Json good_response(const Endpoint& row) {
    Json response = {{"description", row.summary}};
    if (row.content_type.empty()) return response;
    if (row.content_type != "application/json") {
        response["content"] = content(row.content_type, {{"type", "string"}});
    } else if (row.shape.starts_with('=')) {
        response["content"] = content(row.content_type, schema_of(row.shape.substr(1)));
    } else if (row.shape.empty()) {
        response["content"] = content(row.content_type, {{"$ref", "#/components/schemas/Envelope"}});
    } else {
        response["content"] = content(row.content_type, schema_of(fmt::format("{} {}", kEnvelope, row.shape)));
    }
    return response;
}

Json failure(std::string_view when) {
    return {{"description", when},
            {"content", content("application/json", {{"$ref", "#/components/schemas/Failure"}})}};
}

Json responses_of(const Endpoint& row) {
    Json out = {{std::to_string(row.status), good_response(row)}};
    for (const int status : row.other_statuses) out[std::to_string(status)] = {{"description", "not here"}};
    // A path parameter may contain something never allowed: control characters, a path that leads out of the directory.
    bool has_bounds = !row.body_shape.empty() || row.pattern.find('{') != std::string::npos;
    for (const Parameter& parameter : row.parameters)
        has_bounds = has_bounds || parameter.type != Parameter::Type::kText || !parameter.choices.empty();
    if (has_bounds) out["400"] = failure("a parameter or the body is wrong");
    if (row.access != Access::kOpen) out["401"] = failure("a name and a password, or a token, are needed");
    if (row.access == Access::kPrivileged) out["403"] = failure("for this machine alone, or for more than reading");
    if (row.debug) out["404"] = failure("debugging is off");
    for (const net::ApiFailure& one : row.failures) {
        const std::string status = std::to_string(one.status);
        out[status] =
            row.content_type != "text/plain" || row.access != Access::kOpen
                ? failure(one.when)
                : Json{{"description", one.when}, {"content", content(row.content_type, {{"type", "string"}})}};
    }
    return out;
}

Json operation(const Endpoint& row, http::Method method) {
    Json out = {{"operationId", operation_id(method, row.pattern)}, {"summary", row.summary}};
    if (Json parameters = parameters_of(row); !parameters.empty()) out["parameters"] = std::move(parameters);
    if (!row.body_shape.empty()) {
        Json schema = schema_of(row.body_shape);
        schema["additionalProperties"] = false;
        out["requestBody"] = {{"required", false}, {"content", content("application/json", std::move(schema))}};
    }
    if (!row.body_type.empty())
        out["requestBody"] = {{"required", true}, {"content", content(row.body_type, {{"type", "string"}})}};
    out["responses"] = responses_of(row);
    if (row.access == Access::kOpen) out["security"] = Json::array();
    return out;
}

}  // namespace

base::Result<Json> openapi_document(std::span<const Endpoint> rows, std::string_view version,
                                    const std::function<base::Result<void>()>& between) {
    Json paths = Json::object();
    for (const Endpoint& row : rows) {
        if (row.pattern.find('*') != std::string::npos) continue;
        for (const http::Method method : row.methods) {
            paths[row.pattern][base::lower(http::method_name(method))] = operation(row, method);
            TRY(between());
        }
    }
    Json schemas = Json::object();
    for (const Schema& schema : kSchemas) schemas[schema.name] = schema_of(schema.shape);
    return Json{{"openapi", "3.1.0"},
                {"info",
                 {{"title", "HTTP API of the live media server"},
                  {"version", version},
                  {"license", {{"name", "MIT"}, {"identifier", "MIT"}}}}},
                {"servers", Json::array({{{"url", "/"}}})},
                {"security", Json::array({Json::object(), {{"password", Json::array()}}, {{"token", Json::array()}}})},
                {"paths", std::move(paths)},
                {"components",
                 {{"schemas", std::move(schemas)},
                  {"securitySchemes",
                   {{"password", {{"type", "http"}, {"scheme", "basic"}}},
                    {"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

}  // namespace service::api
