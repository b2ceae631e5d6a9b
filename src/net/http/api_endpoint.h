#pragma once
// A row of the HTTP API's table: where it is, who may call it, what it takes and answers. The table serves, and the
// OpenAPI document at /api/v1/openapi.json is made of it, so a row says the whole truth. Services that have endpoints
// of their own add rows to an ApiTable before the API starts (server/modules.cpp hands it to them).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/access/auth.h"
#include "net/http/http_router.h"

namespace net {

struct ApiParameter {
    enum class In : uint8_t { kQuery, kPath };
    enum class Type : uint8_t { kText, kInteger, kBoolean };
    In in = In::kQuery;
    std::string name;
    Type type = Type::kText;
    std::string doc;
    std::optional<int64_t> least{};
    std::optional<int64_t> most{};
    std::optional<int64_t> initial{};
    std::vector<std::string> choices{};
    bool required = false;
};

struct ApiFailure {
    int status;
    std::string when;  // "no such stream"
};

struct ApiEndpoint {
    std::vector<http::Method> methods;
    std::string pattern;  // HttpRoute's
    std::string summary;  // one line for people
    ApiAccess access = ApiAccess::kRead;
    HttpHandler handler;
    bool debug = false;  // there only with http_api { debug on; }
    size_t body_limit_bytes = 64 * 1024;

    std::vector<ApiParameter> parameters{};  // those of the path need not be here
    // What a good answer has beside code, server, service and pid; service/api/shape.h says how it is
    // written: "total:int streams[@Stream]". Empty: nothing more; with '=' before it: without those four. With another
    // content_type it is no JSON.
    std::string shape{};
    std::string content_type = "application/json";  // empty: no body
    int status = 200;                               // when all is well
    std::string body_shape{};                       // of a JSON body that may be sent
    std::string body_type{};                        // of another body, which must be sent: "application/sdp"
    std::vector<ApiFailure> failures{};             // beside those that follow from access and parameters
    std::vector<int> other_statuses{};              // that are no failures: 302
};

struct ApiTable {
    std::vector<ApiEndpoint> rows;
    void add(ApiEndpoint row) { rows.push_back(std::move(row)); }
};

}  // namespace net
