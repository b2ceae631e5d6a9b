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
    using Member = base::Result<void> (About::*)(Request&, Response&);
    std::vector<Endpoint> all;
    auto add = [&](const char* name, const char* summary, const char* shape, Member member) -> Endpoint& {
        Endpoint row;
        row.methods = {http::Method::kGet};
        row.pattern = std::string("/api/v1/") + name;
        row.summary = summary;
        row.shape = shape;
        row.handler = [this, member](Request& request, Response& response) {
            return (this->*member)(request, response);
        };
        all.push_back(std::move(row));
        return all.back();
    };
    add("versions", "the version of SRS whose interface this is, and of this server",
        "data{major:int minor:int revision:int version:str server_version:str}", &About::versions);
    add("authors", "the authors and the licence", "data{license:str copyright:str authors:str}", &About::authors);
    add("features", "its parts and features", "data{build:str build2:str options:str options2:str features:any}",
        &About::features);
    add("clusters", "whether a stream is published here", "data{query:any origin:any}", &About::clusters).parameters = {
        text_parameter("ip", "of the caller"), text_parameter("vhost", "of the stream"),
        text_parameter("app", "of the stream"), text_parameter("stream", "its name"),
        text_parameter("coworker", "how the caller reaches this server")};
    add("tests/requests", "the request as the server sees it",
        "data{uri:str path:str METHOD:str headers:any server{sigature:str version:str time:int}}", &About::test_request)
        .own_words = true;
    add("tests/errors", "a response with an error code: 100", "", &About::test_error);
    add("tests/redirects", "a redirection to tests/errors", "", &About::test_redirect).other_statuses = {302};
    return all;
}

base::Result<void> About::send(Response& response, Json data) const {
    Json body = envelope(identity_);
    body["data"] = std::move(data);
    return send_json(response, body);
}

base::Result<void> About::versions(Request&, Response& response) {
    return send(response, {{"major", version_part(identity_.interface_version, 0)},
                           {"minor", version_part(identity_.interface_version, 1)},
                           {"revision", version_part(identity_.interface_version, 2)},
                           {"version", identity_.interface_version},
                           {"server_version", identity_.version}});
}

base::Result<void> About::authors(Request&, Response& response) {
    return send(response,
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
    for (std::string_view name : features_) features[std::string(name)] = true;
    return send(response, {{"build", identity_.date},
                           {"build2", std::to_string(identity_.date_s)},
                           {"options", identity_.signature},
                           {"options2", identity_.compiler},
                           {"features", features}});
}

base::Result<void> About::clusters(Request& request, Response& response) {
    const http::Request& message = request.message;
    const config::SnapshotPtr snapshot = snapshot_();
    const config::Vhost* vhost = snapshot->vhost(message.parameter("vhost"));
    Json query = Json::object();
    for (const char* name : {"ip", "vhost", "app", "stream"}) query[name] = message.parameter(name);
    Json origin = nullptr;
    if (vhost) {
        const auto stream = registry_.find(
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
    return send(response, {{"query", std::move(query)}, {"origin", std::move(origin)}});
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
    return send(
        response,
        {{"uri", request.base_url("") + message.target},
         {"path", message.path},
         {"METHOD", http::method_name(message.method)},
         {"headers", std::move(headers)},
         {"server", {{"sigature", identity_.signature}, {"version", identity_.version}, {"time", base::wall_ms()}}}});
}

base::Result<void> About::test_error(Request&, Response& response) {
    return send_json(response, envelope(identity_, 100));
}

base::Result<void> About::test_redirect(Request&, Response& response) {
    return response.redirect(302, "/api/v1/tests/errors");
}

}  // namespace service::api
