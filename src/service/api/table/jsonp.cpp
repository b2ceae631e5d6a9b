#include "service/api/table/jsonp.h"

#include <algorithm>

#include "net/access/auth.h"

namespace service::api {

namespace {

// "angular.callbacks._0", "jQuery1_2": names separated by dots; characters that would allow a script are refused.
bool is_function_name(std::string_view text) {
    constexpr size_t kMost = 128;
    constexpr std::string_view kDigits = "0123456789.";
    constexpr std::string_view kAll = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$.";
    return !text.empty() && text.size() <= kMost && kDigits.find(text[0]) == kDigits.npos && !text.ends_with('.') &&
           text.find("..") == text.npos && text.find_first_not_of(kAll) == text.npos;
}

}  // namespace

Jsonp read_jsonp(const net::HttpRequest& request, net::ApiAccess access, const config::HttpApi& api) {
    const http::Request& message = request.message;
    const auto callback = http::find_parameter(message.parameters, "callback");
    if (!callback || (message.method != http::Method::kGet && message.method != http::Method::kHead))
        return {{}, message.method, 0, {}};
    if (!is_function_name(*callback)) return {{}, message.method, 400, "callback is no name of a function"};
    Jsonp jsonp{*callback, message.method, 0, {}};
    auto refuse = [&](int status, std::string_view why) {
        jsonp.status = status;
        jsonp.why = why;
        return jsonp;
    };
    const std::string_view method = message.parameter("method");
    if (!method.empty() && method != "GET") {
        if (method != "DELETE") return refuse(400, "method is GET or DELETE");
        if (message.method != http::Method::kGet) return refuse(400, "method goes with GET");
        if (net::is_of_another_site(message)) return refuse(403, "not for pages of other sites");
        jsonp.method = http::Method::kDelete;
        return jsonp;
    }
    if (access == net::ApiAccess::kPrivileged) return refuse(403, "not by callback");
    if ((api.auth.enabled || !api.crossdomain) && net::is_of_another_site(message))
        return refuse(403, "by callback not for pages of other sites");
    return jsonp;
}

}  // namespace service::api
