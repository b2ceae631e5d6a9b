#include "service/api/control.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/log.h"
#include "base/redaction.h"
#include "config/listing.h"
#include "service/api/lists/listing.h"
#include "service/api/lists/statistics.h"

namespace service::api {

using base::Code;
using base::Result;

namespace {

constexpr int64_t kMaxDurationS = 86'400;

int status_of(Code code) {
    switch (code) {
        case Code::kNotFound:
            return 404;
        case Code::kBusy:
            return 409;
        case Code::kRefused:
        case Code::kConfig:
            return 400;
        default:
            return 500;
    }
}

Json directive_json(const config::Listed& listed) {
    const config::Row& row = *listed.row;
    const bool hidden = row.is_secret() && !listed.value.empty();
    return {{"vhost", listed.vhost},
            {"name", row.path()},
            {"value", hidden ? std::string(base::kHidden) : base::hide_credentials(listed.value)},
            {"initial", row.initial},
            {"origin", listed.origin},
            {"apply", row.apply == config::Apply::kLive ? "live" : "restart"}};
}

}  // namespace

Result<RecordingRequest> parse_recording_request(std::string_view body) {
    RecordingRequest ask;
    if (body.empty()) return ask;
    const Json json = Json::parse(body, nullptr, false);
    if (!json.is_object()) return base::fail(Code::kConfig, "the body must be a JSON object, or empty");
    for (const auto& [name, value] : json.items()) {
        if (name == "path" && value.is_string()) {
            ask.path = value.get<std::string>();
        } else if (name == "segments" && value.is_boolean()) {
            ask.segments = value.get<bool>();
        } else if (name == "duration" && value.is_number() && value.get<double>() > 0 &&
                   value.get<double>() <= static_cast<double>(kMaxDurationS)) {
            ask.duration_ms = std::max<int64_t>(1, static_cast<int64_t>(value.get<double>() * 1000));
        } else if (name == "pre_roll" && value.is_boolean()) {
            ask.pre_roll = value.get<bool>();
        } else {
            return base::fail(Code::kConfig,
                              fmt::format("path is a text, segments and pre_roll are true or false, duration is of "
                                          "seconds up to {}; there is nothing else",
                                          kMaxDurationS));
        }
    }
    return ask;
}

std::vector<Endpoint> Control::endpoints() {
    Endpoints<Control> rows(*this, Access::kPrivileged);
    using enum http::Method;
    rows.add(kDelete, "/api/v1/clients/{id}", "ends a client's connection; code 2049: there is no such client",
             "error?:str", &Control::kick);
    constexpr const char* kRecording = "/api/v1/streams/{id}/recording";
    Endpoint& recording = rows.get(kRecording, "whether a requested recording is in progress, and one of dvr",
                                   "recording:bool configured:bool", &Control::recording);
    recording.failures = {{404, "there is no such stream"}, {501, "this server does not record"}};
    recording.of_both.by_publisher = true;
    Endpoint& start =
        rows.add(kPost, kRecording, "starts a recording in addition to those of dvr, from the current GOP on", "",
                 &Control::start_recording);
    start.body_shape = "path?:str segments?:bool duration?:num pre_roll?:bool";
    start.of_both.by_publisher = true;
    start.failures = {{400, "the body, or the path in it"},
                      {404, "the stream is not published"},
                      {409, "it is being recorded so already"},
                      {501, "this server does not record"}};
    Endpoint& stop = rows.add(kDelete, kRecording, "stops the recording; its file is complete soon after", "",
                              &Control::stop_recording);
    stop.failures = {{404, "there is no such recording"}, {501, "this server does not record"}};
    stop.of_both.by_publisher = true;
    Endpoint& config = rows.get("/api/v1/config", "the configuration in force, and the origin of each value",
                                "total:int directives[vhost:str name:str value:str initial:str origin:str apply:str]",
                                &Control::configuration);
    config.parameters = page_parameters();
    config.parameters.push_back({.name = "name", .doc = "those alone whose name has this in it, as http_api/listen"});
    config.parameters.push_back(
        {.name = "vhost", .doc = "those outside of vhosts, and those of the vhost of this name, alone"});
    config.parameters.push_back({.name = "set", .type = Parameter::Type::kBoolean, .doc = "true: without defaults"});
    return rows.take();
}

Result<void> Control::kick(Request& request, Response& response) {
    const std::string_view id = request.capture("id");
    net::Session* session = context_.sessions.find(id);
    const bool is_here = session && session->stream_account() && !session->is_with_other_process();
    if (!is_here && TRY(pass_on(context_.offers, client_request(http::Method::kDelete, id), request, response)))
        return {};
    if (!is_here) return send_missing(response, context_.identity, Missing::kClient);
    base::log::trace("{} {} is ended by the API, for {}", net::session_type_name(session->type()), session->id(),
                     request.peer_ip);
    session->kick("kicked by the API");
    return send_json(response, envelope(context_.identity));
}

// False: the request has been answered.
Result<bool> Control::stream_of(Request& request, Response& response, live::StreamKey& key) {
    if (!context_.offers.recorder) {
        TRY(send_failure(response, context_.identity, 501, "this server does not record"));
        return false;
    }
    if (statistics_.find_stream(request.capture("id"), key)) return true;
    TRY(send_failure(response, context_.identity, 404, "there is no such stream"));
    return false;
}

Result<void> Control::done(const Result<void>& result, Response& response) {
    if (result) return send_json(response, envelope(context_.identity));
    return send_failure(response, context_.identity, status_of(result.error().code()), result.error().text());
}

Result<void> Control::start_recording(Request& request, Response& response) {
    live::StreamKey key;
    if (!TRY(stream_of(request, response, key))) return {};
    const auto ask = parse_recording_request(request.message.body);
    if (!ask) return send_failure(response, context_.identity, 400, ask.error().text());
    return done(context_.offers.recorder->start_recording(key, *ask), response);
}

Result<void> Control::stop_recording(Request& request, Response& response) {
    live::StreamKey key;
    if (!TRY(stream_of(request, response, key))) return {};
    return done(context_.offers.recorder->stop_recording(key), response);
}

Result<void> Control::recording(Request& request, Response& response) {
    live::StreamKey key;
    if (!TRY(stream_of(request, response, key))) return {};
    return send_fields(response, context_.identity,
                       {{"recording", context_.offers.recorder->is_recording_by_request(key)},
                        {"configured", context_.offers.recorder->is_recording_by_configuration(key)}});
}

Result<void> Control::configuration(Request& request, Response& response) {
    const std::string_view set = request.message.parameter("set"), name = request.message.parameter("name");
    if (!set.empty() && set != "true" && set != "false")
        return send_failure(response, context_.identity, 400, "set is true or false");
    const std::string_view only = request.message.parameter("vhost");
    const config::SnapshotPtr snapshot = context_.snapshot;
    List<config::Listed> list(request, context_.identity, "directives");
    // One vhost at a time: there may be thousands, and other coroutines must run.
    for (size_t i = 0; i <= snapshot->vhosts.size(); ++i) {
        const config::Vhost* vhost = i == 0 ? nullptr : &snapshot->vhosts[i - 1];
        if (vhost && !only.empty() && vhost->name != only) continue;
        for (config::Listed& listed : config::list_directives(*snapshot, vhost)) {
            const bool is_left_out = (set == "true" && listed.origin == "default") ||
                                     (!name.empty() && listed.row->path().find(name) == std::string::npos);
            TRY(is_left_out ? list.skip() : list.add(std::move(listed)));
        }
    }
    return list.send(response, directive_json);
}

}  // namespace service::api
