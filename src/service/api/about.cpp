#include "service/api/about.h"

#include <charconv>

#include "base/clock.h"
#include "base/json.h"

namespace service::api {

namespace {

// The component of "7.0.18" with that index.
int version_part(std::string_view version, int index) {
    while (index-- > 0) version.remove_prefix(std::min(version.size(), version.find('.') + 1));
    int value = 0;
    std::from_chars(version.data(), version.data() + version.size(), value);
    return value;
}

// The address that the caller used, "10.0.0.1:1985".
std::string api_address(const http::Request& message, const config::ListenAddresses& listen) {
    const uint16_t port = message.port ? message.port : listen.empty() ? 0 : listen[0].port;
    return config::ListenAddress{message.host, port}.text();
}

Parameter text_parameter(const char* name, const char* doc) {
    return {Parameter::In::kQuery, name, Parameter::Type::kText, doc};
}

}  // namespace

std::vector<Endpoint> About::endpoints() {
    Endpoints<About> rows(*this);
    rows.get("/api/v1/versions", "the version of SRS whose interface this is, and of this server",
             "data{major:int minor:int revision:int version:str server_version:str}", &About::versions);
    rows.get("/api/v1/authors", "the authors and the licence", "data{license:str copyright:str authors:str}",
             &About::authors);
    rows.get("/api/v1/features", "its parts and features",
             "data{build:str build2:str options:str options2:str features:any}", &About::features);
    rows.get("/api/v1/clusters", "whether a stream is published here", "data{query:any origin:any}", &About::clusters)
        .parameters = {text_parameter("ip", "of the caller"), text_parameter("vhost", "of the stream"),
                       text_parameter("app", "of the stream"), text_parameter("stream", "its name"),
                       text_parameter("coworker", "how the caller reaches this server")};
    rows.get("/api/v1/tests/requests", "the request as the server sees it",
             "data{uri:str path:str METHOD:str headers:any server{sigature:str version:str time:int}}",
             &About::test_request)
        .own_words = true;
    rows.get("/api/v1/tests/errors", "a response with an error code: 100", "", &About::test_error);
    rows.get("/api/v1/tests/redirects", "a redirection to tests/errors", "", &About::test_redirect).other_statuses = {
        302};
    return rows.take();
}

base::Result<void> About::versions(Request&, Response& response) {
    const Identity& identity = context_.identity;
    return send_data(response, identity,
                     {{"major", version_part(identity.interface_version, 0)},
                      {"minor", version_part(identity.interface_version, 1)},
                      {"revision", version_part(identity.interface_version, 2)},
                      {"version", identity.interface_version},
                      {"server_version", identity.version}});
}

base::Result<void> About::authors(Request&, Response& response) {
    return send_data(response, context_.identity,
                     {{"license", "MIT"}, {"copyright", "Copyright (c) 2026 The authors"}, {"authors", "The authors"}});
}

// The feature names of SRS, and whether they are available here. Those of services are available if the service is
// built in; a name that SRS does not have comes last.
base::Result<void> About::features(Request&, Response& response) {
    static constexpr std::pair<std::string_view, bool> kNames[] = {
        {"ssl", true},      {"hls", false},         {"hds", false},        {"callback", false},   {"api", false},
        {"httpd", false},   {"dvr", false},         {"transcode", false},  {"ingest", false},     {"stat", false},
        {"caster", false},  {"complex_send", true}, {"tcp_nodelay", true}, {"so_sendbuf", false}, {"mr", false},
        {"h265", true},     {"rtc", false},         {"srt", false},        {"rtsp", false},       {"gb28181", false},
        {"exporter", false}};
    Json features = Json::object();
    for (const auto& [name, available] : kNames) features[std::string(name)] = available;
    for (std::string_view name : context_.features) features[std::string(name)] = true;
    const Identity& identity = context_.identity;
    return send_data(response, identity,
                     {{"build", identity.date},
                      {"build2", std::to_string(identity.date_s)},
                      {"options", identity.signature},
                      {"options2", identity.compiler},
                      {"features", features}});
}

base::Result<void> About::clusters(Request& request, Response& response) {
    const http::Request& message = request.message;
    const config::SnapshotPtr snapshot = context_.snapshot;
    const config::Vhost* vhost = snapshot->vhost(message.parameter("vhost"));
    Json query = Json::object();
    for (const char* name : {"ip", "vhost", "app", "stream"}) query[name] = message.parameter(name);
    Json origin = nullptr;
    if (vhost) {
        const auto stream = context_.registry.find(
            {vhost->name, std::string(message.parameter("app")), std::string(message.parameter("stream"))});
        // A server that itself pulls the stream is not asked for it.
        if (stream && stream->published() && !stream->publisher()->is_relay() && !snapshot->rtmp.listen.empty()) {
            const std::string api = api_address(message, snapshot->http_api.listen);
            origin = {{"ip", message.host},
                      {"port", snapshot->rtmp.listen[0].port},
                      {"vhost", message.parameter("vhost")},
                      {"api", api},
                      {"routers", Json::array({api})}};
        }
    }
    return send_data(response, context_.identity, {{"query", std::move(query)}, {"origin", std::move(origin)}});
}

base::Result<void> About::test_request(Request& request, Response& response) {
    const http::Request& message = request.message;
    Json headers = Json::object();
    for (const auto& [name, value] : message.headers) {
        // A page that makes a browser send a request must not learn the browser's credentials.
        const bool secret =
            http::equal_ignoring_case(name, "Authorization") || http::equal_ignoring_case(name, "Cookie");
        headers[name] = secret ? "***" : value;
    }
    const Identity& identity = context_.identity;
    return send_data(
        response, identity,
        {{"uri", request.base_url("") + message.target},
         {"path", message.path},
         {"METHOD", http::method_name(message.method)},
         {"headers", std::move(headers)},
         {"server", {{"sigature", identity.signature}, {"version", identity.version}, {"time", base::wall_ms()}}}});
}

base::Result<void> About::test_error(Request&, Response& response) {
    return send_json(response, envelope(context_.identity, 100));
}

base::Result<void> About::test_redirect(Request&, Response& response) {
    return response.redirect(302, "/api/v1/tests/errors");
}

}  // namespace service::api
