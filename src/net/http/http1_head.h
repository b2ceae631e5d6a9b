#pragma once
// The head of an HTTP/1.1 response, with the fields that all responses have.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace net {

struct Http1Head {
    int status = 200;
    std::string_view content_type{};   // empty: none
    std::optional<uint64_t> length{};  // of the body; nullopt: none is named
    bool chunked = false;
    bool keep_alive = true;
    bool crossdomain = true;  // web pages of other origins may read it
    std::string_view server_name{};
};

// The fields that web pages of other origins may read.
inline constexpr std::string_view kExposedFields = "Server,Date,Age,Content-Length,Content-Range,Location,ETag,Link";

// These statuses have neither a length nor a body.
constexpr bool has_no_body(int status) { return status < 200 || status == 204 || status == 304; }

// Of now, in seconds and as in the Date field; the text is valid until the next call.
int64_t date_second();
const std::string& date_of_now();

std::string write_http1_head(const Http1Head& head, std::span<const std::pair<std::string, std::string>> fields);

}  // namespace net
