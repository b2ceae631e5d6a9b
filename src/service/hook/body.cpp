#include "service/hook/body.h"

#include <fmt/format.h>

#include "base/json.h"
#include "config/path_variables.h"
#include "net/sessions/account.h"
#include "protocol/http/url.h"

namespace service::hook {

namespace {

using Json = base::OrderedJson;

Json common(std::string_view action, const Identity& identity, const net::Visitor& visitor) {
    Json body;
    body["server_id"] = identity.server_id;
    body["service_id"] = identity.service_id;
    body["action"] = action;
    body["client_id"] = visitor.id;
    body["ip"] = visitor.ip;
    body["vhost"] = visitor.vhost;
    body["app"] = visitor.app;
    return body;
}

// The common fields for a file or a segment.
Json of_publisher(std::string_view action, const Identity& identity, const net::Visitor& publisher) {
    Json body = common(action, identity, publisher);
    body["tcUrl"] = publisher.tc_url;
    body["stream"] = publisher.stream;
    body["param"] = net::reported_param(publisher.type, publisher.param);
    return body;
}

void add_stream(Json& body, const net::Visitor& visitor) {
    body["stream_url"] = net::stream_url(visitor.key());
    body["stream_id"] = net::stream_id(visitor.key());
}

// Relative paths of files are reported without "./".
std::string relative(std::string_view path) {
    while (path.starts_with("./")) path.remove_prefix(2);
    return std::string(path);
}

}  // namespace

std::string client_body(Hook hook, const Identity& identity, const net::Visitor& visitor, const net::Traffic& traffic,
                        size_t clients) {
    Json body = common(hook_name(hook), identity, visitor);
    if (hook == Hook::kOnClose) {
        body["send_bytes"] = traffic.sent_bytes;
        body["recv_bytes"] = traffic.received_bytes;
        return base::to_text(body);
    }
    body["tcUrl"] = visitor.tc_url;
    body["stream"] = visitor.stream;  // empty for on_connect: it is not known yet
    body["param"] = net::reported_param(visitor.type, visitor.param);
    if (hook == Hook::kOnPlay || hook == Hook::kOnConnect) body["pageUrl"] = visitor.page_url;
    if (hook == Hook::kOnConnect) return base::to_text(body);
    add_stream(body, visitor);
    if (hook == Hook::kOnPlay || hook == Hook::kOnStop) body["clients"] = clients;
    return base::to_text(body);
}

std::string dvr_body(const Identity& identity, const net::Visitor& publisher, const live::RecordingDone& event) {
    Json body = of_publisher("on_dvr", identity, publisher);
    body["cwd"] = identity.cwd;
    body["file"] = event.path;
    add_stream(body, publisher);
    return base::to_text(body);
}

std::string hls_body(const Identity& identity, const net::Visitor& publisher, const live::SegmentDone& event) {
    Json body = of_publisher("on_hls", identity, publisher);
    body["duration"] = static_cast<double>(event.duration_ms) / 1000;
    body["cwd"] = identity.cwd;
    body["file"] = event.path;
    body["url"] = event.full_url;
    body["m3u8"] = event.playlist_path;
    body["m3u8_url"] = event.playlist_url;
    body["seq_no"] = event.sequence;
    add_stream(body, publisher);
    return base::to_text(body);
}

std::string standby_body(const Identity& identity, const net::Visitor& publisher, const live::StandbyChange& change) {
    Json body = of_publisher("on_standby", identity, publisher);
    body["state"] = change.is_active ? "active" : "waiting";
    body["priority"] = change.priority;
    body["reason"] = live::standby_reason_name(change.reason);
    body["other_id"] = change.other;
    add_stream(body, publisher);
    return base::to_text(body);
}

std::string start_body(const Identity& identity, const std::string& vhost, const SavedOutbox& left) {
    constexpr size_t kMaxStreams = 100;
    net::Visitor nobody;
    nobody.vhost = vhost;
    Json body = common("on_start", identity, nobody);
    body["previous_id"] = left.run;
    body["crashed"] = !left.has_ended;
    size_t publishers = 0, players = 0, connections = 0;
    Json streams = Json::array();
    for (const SavedSession& session : left.sessions) {
        const net::Visitor& visitor = session.visitor;
        if (visitor.vhost != vhost) continue;
        if (visitor.action == net::Action::kConnect) ++connections;
        if (visitor.action == net::Action::kPlay) ++players;
        if (visitor.action != net::Action::kPublish) continue;
        ++publishers;
        if (streams.size() < kMaxStreams) streams.push_back(net::stream_url(visitor.key()));
    }
    body["publishers"] = publishers;
    body["players"] = players;
    body["connections"] = connections;
    body["streams"] = std::move(streams);
    return base::to_text(body);
}

std::string alert_body(const Identity& identity, const std::string& vhost, const Alert& alert) {
    net::Visitor nobody;
    nobody.vhost = vhost;
    nobody.app = alert.stream.app;
    Json body = common("on_alert", identity, nobody);
    body["stream"] = alert.stream.name;
    body["alert"] = alert_name(alert.kind);
    body["state"] = alert.cleared_ms ? "cleared" : "raised";
    body["about"] = alert.about;
    body["text"] = alert.text;
    body["figure"] = alert.figure;
    body["raised_ms"] = alert.raised_ms;
    body["cleared_ms"] = alert.cleared_ms;
    return base::to_text(body);
}

std::string notify_url(std::string_view pattern, const Identity& identity, const net::Visitor& publisher,
                       std::string_view ts_url) {
    // Escaped for a URL's path. [param] is left as it is, because it is a query.
    config::PathVariables variables;
    variables.set("server_id", http::percent_encode(identity.server_id));
    variables.set("service_id", http::percent_encode(identity.service_id));
    variables.set("app", http::percent_encode(publisher.app));
    variables.set("stream", http::percent_encode(publisher.stream));
    variables.set("param", http::percent_encode(publisher.param, "?&=%/:,;@!$'()*+"));
    variables.set("ts_url", http::percent_encode(relative(ts_url), "/:?&=%"));
    return variables.expand(pattern);
}

}  // namespace service::hook
