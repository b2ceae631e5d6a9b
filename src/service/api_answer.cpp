#include "service/api_answer.h"

#include <fmt/format.h>

#include <charconv>

#include "base/json.h"

namespace service {

using base::Result;
using nlohmann::ordered_json;

ordered_json envelope(const Identity& identity, int code) {
    return {{"code", code}, {"server", identity.server}, {"service", identity.service}, {"pid", identity.pid}};
}

Result<void> send_json(net::HttpResponse& response, const ordered_json& body, int status) {
    return response.send(status, "application/json", base::to_text(body));
}

ordered_json failure(const Identity& identity, int status, std::string_view text) {
    ordered_json body = envelope(identity, status);
    body["error"] = text;
    return body;
}

Result<void> send_failure(net::HttpResponse& response, const Identity& identity, int status, std::string_view text) {
    return send_json(response, failure(identity, status, text), status);
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

Result<std::optional<Page>> page_of(const net::HttpRequest& request, net::HttpResponse& response,
                                    const Identity& identity, int64_t count) {
    const auto start = number_parameter(request, "start", 0, 0, Page::kMaxStart);
    const auto wanted = number_parameter(request, "count", count, 1, Page::kMaxCount);
    if (start && wanted) return Page{static_cast<size_t>(*start), static_cast<size_t>(*wanted)};
    TRY(send_failure(response, identity, 400,
                     fmt::format("start is a whole number from 0 on, count one from 1 to {}", Page::kMaxCount)));
    return std::optional<Page>();
}

std::vector<net::ApiParameter> page_parameters(int64_t count) {
    using enum net::ApiParameter::In;
    using enum net::ApiParameter::Type;
    return {{kQuery, "start", kInteger, "how many to pass over", 0, Page::kMaxStart, 0},
            {kQuery, "count", kInteger, "how many at most", 1, Page::kMaxCount, count}};
}

}  // namespace service
