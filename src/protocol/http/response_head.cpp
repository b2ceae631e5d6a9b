#include "protocol/http/response_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/ascii.h"

namespace http {

std::string_view reason_phrase(int status) {
    switch (status) {
        case 100:
            return "Continue";
        case 101:
            return "Switching Protocols";
        case 200:
            return "OK";
        case 201:
            return "Created";
        case 202:
            return "Accepted";
        case 203:
            return "Non-Authoritative Information";
        case 204:
            return "No Content";
        case 205:
            return "Reset Content";
        case 206:
            return "Partial Content";
        case 300:
            return "Multiple Choices";
        case 301:
            return "Moved Permanently";
        case 302:
            return "Found";
        case 303:
            return "See Other";
        case 304:
            return "Not Modified";
        case 307:
            return "Temporary Redirect";
        case 308:
            return "Permanent Redirect";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 402:
            return "Payment Required";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 406:
            return "Not Acceptable";
        case 407:
            return "Proxy Authentication Required";
        case 408:
            return "Request Timeout";
        case 409:
            return "Conflict";
        case 410:
            return "Gone";
        case 411:
            return "Length Required";
        case 412:
            return "Precondition Failed";
        case 413:
            return "Payload Too Large";
        case 414:
            return "URI Too Long";
        case 415:
            return "Unsupported Media Type";
        case 416:
            return "Range Not Satisfiable";
        case 417:
            return "Expectation Failed";
        case 421:
            return "Misdirected Request";
        case 422:
            return "Unprocessable Entity";
        case 425:
            return "Too Early";
        case 426:
            return "Upgrade Required";
        case 428:
            return "Precondition Required";
        case 429:
            return "Too Many Requests";
        case 431:
            return "Request Header Fields Too Large";
        case 451:
            return "Unavailable For Legal Reasons";
        case 500:
            return "Internal Server Error";
        case 501:
            return "Not Implemented";
        case 502:
            return "Bad Gateway";
        case 503:
            return "Service Unavailable";
        case 504:
            return "Gateway Timeout";
        case 505:
            return "HTTP Version Not Supported";
        case 507:
            return "Insufficient Storage";
        case 508:
            return "Loop Detected";
        case 511:
            return "Network Authentication Required";
        default:
            return "Status";
    }
}

namespace {

// Eight characters at a time: each field of each response is looked at.
bool has_control(std::string_view text) {
    constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x80 * kOnes;
    uint64_t found = 0, eight = 0;
    for (; text.size() >= sizeof eight; text.remove_prefix(sizeof eight)) {
        std::memcpy(&eight, text.data(), sizeof eight);
        const uint64_t beside_delete = eight ^ (0x7f * kOnes);
        found |= ((eight - 0x20 * kOnes) & ~eight) | ((beside_delete - kOnes) & ~beside_delete);
    }
    return (found & kHighs) != 0 || std::ranges::any_of(text, base::is_control);
}

}  // namespace

HeadWriter::HeadWriter(int status) {
    text_.reserve(640);
    text_.append("HTTP/1.1 ").append(fmt::format_int(status).c_str()).append(" ").append(reason_phrase(status));
    text_.append("\r\n");
}

HeadWriter& HeadWriter::field(std::string_view name, std::string_view value) {
    text_.append(name).append(": ");
    const size_t start = text_.size();
    text_.append(value).append("\r\n");
    if (has_control(value))
        std::replace_if(text_.begin() + static_cast<ptrdiff_t>(start), text_.end() - 2, base::is_control, ' ');
    return *this;
}

HeadWriter& HeadWriter::field(std::string_view name, uint64_t value) {
    const fmt::format_int text(value);
    return field(name, std::string_view(text.data(), text.size()));
}

HeadWriter& HeadWriter::lines(std::string_view text) {
    text_.append(text);
    return *this;
}

std::string HeadWriter::finish() {
    text_.append("\r\n");
    return std::move(text_);
}

std::string chunk_prefix(size_t n) { return fmt::format("{:x}\r\n", n); }

}  // namespace http
