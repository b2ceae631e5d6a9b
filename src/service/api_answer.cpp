#include "service/api_answer.h"

#include <fmt/format.h>

#include <algorithm>
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

Result<void> send_fields(net::HttpResponse& response, const Identity& identity, ordered_json fields) {
    ordered_json body = envelope(identity);
    for (const auto& [name, value] : fields.items()) body[name] = std::move(value);
    return send_json(response, body);
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

Page page_of(const net::HttpRequest& request, int64_t count) {
    const auto number = [&](const char* name) -> int64_t {
        const std::string_view text = request.message.parameter(name);
        int64_t value = 0;
        const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
        return read.ec == std::errc::result_out_of_range && !text.starts_with('-') ? INT64_MAX : value;
    };
    const int64_t wanted = number("count");
    Page page;
    page.start = static_cast<size_t>(std::clamp<int64_t>(number("start"), 0, Page::kMaxStart));
    page.count = static_cast<size_t>(wanted > 0 ? std::min(wanted, Page::kMaxCount) : count);
    return page;
}

std::vector<net::ApiParameter> page_parameters(int64_t count) {
    using enum net::ApiParameter::In;
    using enum net::ApiParameter::Type;
    // Texts, because what is no such number is not refused.
    return {{kQuery, "start", kText, "how many to pass over, as a number; 0 without"},
            {kQuery, "count", kText, fmt::format("how many at most, up to {}; {} without", Page::kMaxCount, count)}};
}

}  // namespace service
