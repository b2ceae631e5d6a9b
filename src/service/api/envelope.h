#pragma once
// The fields common to all JSON answers of the API: code (0: success), server, service, pid. Shapes: INTERFACE.md,
// "HTTP API".

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "net/http/http_exchange.h"
#include "service/identity.h"

namespace service::api {

// Fields keep the order in which they were added.
using Json = nlohmann::ordered_json;

Json envelope(const Identity& identity, int code = 0);

base::Result<void> send_json(net::HttpResponse& response, const Json& body, int status = 200);
// code is the status, and the text says why.
Json failure(const Identity& identity, int status, std::string_view text);
base::Result<void> send_failure(net::HttpResponse& response, const Identity& identity, int status,
                                std::string_view text);
// Answers a request for something that does not exist, as SRS does: with status 200, and its code.
enum class Missing : int { kVhost = 2014, kStream = 2048, kClient = 2049 };
base::Result<void> send_missing(net::HttpResponse& response, const Identity& identity, Missing missing);

// A numeric parameter within bounds; `initial` if it is absent, nothing if it is invalid.
std::optional<int64_t> number_parameter(const net::HttpRequest& request, std::string_view name, int64_t initial,
                                        int64_t min, int64_t max);

}  // namespace service::api
