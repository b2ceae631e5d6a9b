#pragma once
// A row of the HTTP API's table: its path, access level, parameters and answers. The table serves requests, and the
// OpenAPI document at /api/v1/openapi.json is generated from it, so a row must be complete. Services with endpoints of
// their own add rows to an ApiTable when they are made (service/shared_parts.h).

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
    std::string name{};
    Type type = Type::kText;
    std::string doc{};
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

// How a call is answered while this process and the one that it has replaced both serve (an upgrade). By default it is
// this one that answers, with what it has.
struct ApiOfBoth {
    // The process whose client publishes the stream {id} answers.
    bool by_publisher = false;
    int64_t within_ms = 1'000;  // that the other process may take
    // The arrays that have the entries of both.
    struct List {
        std::string name{};
        bool is_paged = true;
        // The text by which entries of both are the same one; empty: no two are.
        std::string key{};
        // Of a list with a key: the number of all entries.
        std::string total{};
        // The time by which they are sorted, the newest first; empty: those of this process are the first ones.
        std::string newest{};
        // The time that is 0 in what lasts, which comes before all else.
        std::string lasting{};
    };
    std::vector<List> lists{};
    int64_t count = 10;  // of entries, where the request does not say
    // Numbers that are added, in the answer, in these objects of it, and in entries with the same key.
    std::vector<std::string> sums{};
    std::vector<std::string> objects{};
};

struct ApiEndpoint {
    std::vector<http::Method> methods{http::Method::kGet};
    std::string pattern{};  // HttpRoute's pattern
    std::string summary{};  // one line for people
    ApiAccess access = ApiAccess::kRead;
    HttpHandler handler{};
    bool debug = false;  // available only with http_api { debug on; }
    // Its answers have no text but this program's and the request's own: no secrets are looked for in them.
    bool own_words = false;
    // Of what changes something: whom or what, for the audit. Empty: the client or stream of {id}, if it has one.
    // Before the handler; does not yield.
    std::function<std::string(const HttpRequest&)> subject{};
    size_t body_limit_bytes = 64 * 1024;
    HttpDrain drain{};  // HttpRoute's

    std::vector<ApiParameter> parameters{};  // path parameters may be omitted here
    // What a successful answer has beside code, server, service and pid; service/api/shape.h defines the syntax:
    // "total:int streams[@Stream]". Empty: nothing more; with '=' before it: without those four. With another
    // content_type the answer is not JSON.
    std::string shape{};
    std::string content_type = "application/json";  // empty: no body
    int status = 200;                               // on success
    std::string body_shape{};                       // of an optional JSON body
    std::string body_type{};                        // of another, required body: "application/sdp"
    std::vector<ApiFailure> failures{};             // beside those that follow from access and parameters
    std::vector<int> other_statuses{};              // that are not failures: 302
    ApiOfBoth of_both{};
};

struct ApiTable {
    std::vector<ApiEndpoint> rows;
    void add(ApiEndpoint row);
};

}  // namespace net
