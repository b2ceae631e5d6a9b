#include "net/http/http_visitor.h"

#include <utility>

#include "base/clock.h"
#include "base/redaction.h"
#include "net/access/access_rules.h"
#include "protocol/http/via.h"

namespace net {

std::string_view vhost_name(const http::Request& request) {
    for (std::string_view name : {"vhost", "domain"})
        if (auto value = http::find_parameter(request.parameters, name).value_or(""); !value.empty()) return value;
    return request.host;
}

Visitor http_visitor(const HttpRequest& request, std::string_view id, const base::StreamKey& stream, SessionType type) {
    Visitor visitor;
    visitor.action = Action::kPlay;
    visitor.type = type;
    visitor.id = id;
    visitor.ip = request.peer_ip;
    visitor.vhost = stream.vhost;
    visitor.app = stream.app;
    visitor.stream = stream.name;
    if (!request.message.raw_query.empty()) visitor.param = "?" + request.message.raw_query;
    visitor.tc_url.append("rtmp://").append(vhost_name(request.message)).append("/").append(stream.app);
    visitor.page_url = page_of(request.message.headers);
    visitor.user_agent = request.message.headers.get("User-Agent");
    visitor.forward_path = http::path_of_via(request.message.headers.get("Via"));
    return visitor;
}

void record_refusal(SessionTable& sessions, const Visitor& visitor, const base::Error& error) {
    ClosedSession closed;
    closed.id = visitor.id;
    closed.ip = visitor.ip;
    closed.type = visitor.type;
    closed.stream = visitor.key().text();
    closed.started_ms = closed.ended_ms = base::wall_ms();
    closed.reason = error.close_reason();
    closed.text = error.text();
    closed.key = visitor.key();
    closed.agent = SharedText::of(visitor.user_agent);
    closed.page = base::bare_url(visitor.page_url);
    sessions.add_closed(std::move(closed));
}

base::Result<void> send_refusal(base::Error error, HttpResponse& response) {
    if (error.code() == base::Code::kCancelled) return std::unexpected(std::move(error));
    response.header("Cache-Control", "no-store");
    if (error.code() == base::Code::kLimit) response.header("Retry-After", "5");
    return response.send_error(error.code() == base::Code::kLimit ? 503 : 403, error.text());
}

}  // namespace net
