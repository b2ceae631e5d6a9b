#pragma once
// What a request's method, target and host must be (RFC 9110, RFC 9112 section 3), whatever the version of HTTP. Pure.

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "protocol/http/message.h"

namespace http {

// Method::kOther where no handler serves it.
Method parse_method(std::string_view name);
// From the target: path, query, parameters, and the host of the absolute form. kProtocol: it is none.
base::Result<void> complete_target(Request& request);
// From an authority, or the Host field's value: host and port, unless the target had them. kProtocol: it is none.
base::Result<void> set_host(Request& request, std::string_view authority);
// HTTP/2 (RFC 9113, section 8.3.1): the host from :authority, which may be empty, or from Host; both must be equal.
base::Result<void> complete_host(Request& request, std::string_view authority);
// The value of Content-Length. False: it is none.
bool parse_length(std::string_view text, uint64_t& length);

}  // namespace http
