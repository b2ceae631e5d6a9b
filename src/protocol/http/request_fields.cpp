#include "protocol/http/request_fields.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/ascii.h"

namespace http {

using base::Code;
using base::Result;

Method parse_method(std::string_view name) {
    constexpr Method kAll[] = {Method::kGet,    Method::kHead,    Method::kPost, Method::kPut,
                               Method::kDelete, Method::kOptions, Method::kPatch};
    const auto found = std::ranges::find(kAll, name, method_name);
    return found == std::end(kAll) ? Method::kOther : *found;
}

Result<void> complete_target(Request& request) {
    for (char c : request.target)
        if (c == ' ' || base::is_control(c)) return base::fail(Code::kProtocol, "control character in the URL");
    const Target target = TRY(split_target(request.target));
    if (target.path == "*") {
        if (request.method != Method::kOptions) return base::fail(Code::kProtocol, "the target * is for OPTIONS only");
        request.path = request.raw_path = "*";
        return {};
    }
    request.path = TRY(safe_path(target.path));
    request.raw_path = target.path;
    request.raw_query = target.query;
    request.parameters = parse_query(target.query);
    // User information in a request is a sign of deception (RFC 9110, section 4.2.4): parse_host refuses '@'.
    if (!target.authority.empty()) TRY(set_host(request, target.authority));
    return {};
}

Result<void> set_host(Request& request, std::string_view authority) {
    HostPort host = TRY(parse_host(authority));
    // The absolute form takes precedence over the Host field.
    if (!request.host.empty()) return {};
    request.host = std::move(host.host);
    request.port = host.port;
    return {};
}

Result<void> complete_host(Request& request, std::string_view authority) {
    const size_t count = request.headers.count("host");
    if (count > 1) return base::fail(Code::kProtocol, "more than one Host");
    if (count == 0 && authority.empty()) return base::fail(Code::kProtocol, "a request without an authority");
    if (count == 1 && !authority.empty() && !equal_ignoring_case(request.headers.get("host"), authority))
        return base::fail(Code::kProtocol, "Host is not the authority");
    return set_host(request, authority.empty() ? request.headers.get("host") : authority);
}

bool parse_length(std::string_view text, uint64_t& length) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), length);
    return !text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size();
}

}  // namespace http
