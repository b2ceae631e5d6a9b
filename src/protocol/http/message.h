#pragma once
// Request and response as the parsers return them, and the limits of a parser (RFC 9110, RFC 9112).

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/http/headers.h"
#include "protocol/http/url.h"

namespace http {

// kOther: a method that no handler serves, such as TRACE, PROPFIND or an invented one.
enum class Method : uint8_t { kGet, kHead, kPost, kPut, kDelete, kOptions, kPatch, kOther };
std::string_view method_name(Method method);

struct Limits {
    size_t header_bytes = 16 * 1024;  // request line (or status line) and header fields together
    size_t header_count = 100;
    size_t target_bytes = 8 * 1024;
    size_t body_bytes = 64 * 1024;
};

struct Request {
    Method method = Method::kGet;
    int minor_version = 1;  // of HTTP/1.x: 0 or 1
    std::string target;     // as sent
    std::string raw_path;   // as sent, without the query
    std::string path;       // decoded once and safe (see safe_path); "*" for OPTIONS *
    std::string raw_query;
    std::string host;  // from the absolute form, else from the Host header: lower case, without port; may be empty
    uint16_t port = 0;
    Parameters parameters;
    Headers headers;
    std::string body;
    bool keep_alive = false;
    bool expects_continue = false;  // and its body has not arrived

    // The parameter's value, empty when it is absent.
    std::string_view parameter(std::string_view name) const {
        return find_parameter(parameters, name).value_or(std::string_view());
    }
};

// Whether a POST was answered with success and a body: 200, or 201, which some frameworks send for every POST.
constexpr bool is_ok_or_created(int status) { return status == 200 || status == 201; }

struct Response {
    int status = 0;
    int minor_version = 1;
    Headers headers;
    bool keep_alive = false;
};

}  // namespace http
