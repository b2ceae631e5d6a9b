#include "service/api/envelope.h"

#include <charconv>

#include "base/json.h"

namespace service::api {

Json envelope(const Identity& identity, int code) {
    return {{"code", code}, {"server", identity.server}, {"service", identity.service}, {"pid", identity.pid}};
}

base::Result<void> send_json(net::HttpResponse& response, const Json& body, int status) {
    return response.send(status, "application/json", base::to_text(body));
}

Json failure(const Identity& identity, int status, std::string_view text) {
    Json body = envelope(identity, status);
    body["error"] = text;
    return body;
}

base::Result<void> send_failure(net::HttpResponse& response, const Identity& identity, int status,
                                std::string_view text) {
    return send_json(response, failure(identity, status, text), status);
}

base::Result<void> send_missing(net::HttpResponse& response, const Identity& identity, Missing missing) {
    Json body = envelope(identity, static_cast<int>(missing));
    body["error"] = missing == Missing::kVhost    ? "there is no such vhost"
                    : missing == Missing::kStream ? "there is no such stream"
                                                  : "there is no such client";
    return send_json(response, body);
}

std::optional<int64_t> number_parameter(const net::HttpRequest& request, std::string_view name, int64_t initial,
                                        int64_t min, int64_t max) {
    const auto given = http::find_parameter(request.message.parameters, name);
    if (!given) return initial;
    const std::string_view text = *given;
    int64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || value < min || value > max)
        return std::nullopt;
    return value;
}

}  // namespace service::api
