#include "protocol/http/request_parser.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/result.h"

namespace http {

std::string_view method_name(Method method) {
    switch (method) {
        case Method::kGet:
            return "GET";
        case Method::kHead:
            return "HEAD";
        case Method::kPost:
            return "POST";
        case Method::kPut:
            return "PUT";
        case Method::kDelete:
            return "DELETE";
        case Method::kOptions:
            return "OPTIONS";
        case Method::kPatch:
            return "PATCH";
    }
    return "GET";
}

// http-parser calls these with pieces; the head's size was checked before, so what they append is bounded.
struct RequestParser::Callbacks {
    static RequestParser& self(http_parser* parser) { return *static_cast<RequestParser*>(parser->data); }

    static int url(http_parser* parser, const char* at, size_t n) {
        RequestParser& p = self(parser);
        p.request_.target.append(at, n);
        return p.request_.target.size() > p.limits_.target_bytes ? !p.note_error(414, "the URL is too long") : 0;
    }
    static int field(http_parser* parser, const char* at, size_t n) {
        RequestParser& p = self(parser);
        Headers& headers = p.request_.headers;
        if (p.last_was_value_) {
            if (headers.size() >= p.limits_.header_count) return !p.note_error(431, "too many header fields");
            headers.add({}, {});
            p.last_was_value_ = false;
        }
        headers.back().first.append(at, n);
        return 0;
    }
    static int value(http_parser* parser, const char* at, size_t n) {
        RequestParser& p = self(parser);
        p.last_was_value_ = true;
        p.request_.headers.back().second.append(at, n);
        return 0;
    }
    // 1: it must not read the body, which is ours.
    static int head(http_parser* parser) {
        self(parser).head_done_ = true;
        return 1;
    }
    static const http_parser_settings& settings() {
        static const http_parser_settings table = [] {
            http_parser_settings s;
            http_parser_settings_init(&s);
            s.on_url = url;
            s.on_header_field = field;
            s.on_header_value = value;
            s.on_headers_complete = head;
            return s;
        }();
        return table;
    }
};

void RequestParser::reset() {
    http_parser_init(&parser_, HTTP_REQUEST);
    guard_.reset();
    body_ = BodyReader();
    request_ = Request();
    head_bytes_ = 0;
    body_limit_ = limits_.body_bytes;
    head_done_ = false;
    last_was_value_ = true;
    method_bytes_ = 0;
    error_status_ = 0;
    error_text_.clear();
}

// False, so that it can be returned.
bool RequestParser::note_error(int status, std::string text) {
    if (error_status_ == 0) {
        error_status_ = status;
        error_text_ = std::move(text);
    }
    return false;
}

RequestParser::Step RequestParser::fail(int status, std::string text) {
    note_error(status, std::move(text));
    return Step::kError;
}

RequestParser::Step RequestParser::feed(std::span<const uint8_t> bytes, size_t& used) {
    used = 0;
    if (error_status_) return Step::kError;
    return head_done_ ? feed_body(bytes, used) : feed_head(bytes, used);
}

RequestParser::Step RequestParser::feed_head(std::span<const uint8_t> bytes, size_t& used) {
    if (bytes.empty()) return Step::kNeedMore;
    size_t n = guard_.feed(bytes);
    used = n;
    head_bytes_ += n;
    if (head_bytes_ > limits_.header_bytes)
        return fail(guard_.in_first_line() ? 414 : 431, fmt::format("the head exceeds {} bytes", limits_.header_bytes));
    if (method_bytes_ < sizeof method_start_ && guard_.started()) {
        auto text = std::string_view(reinterpret_cast<const char*>(bytes.data()), n);
        if (method_bytes_ == 0) text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
        size_t count = std::min(text.size(), sizeof method_start_ - method_bytes_);
        std::memcpy(method_start_ + method_bytes_, text.data(), count);
        method_bytes_ += count;
    }
    parser_.data = this;  // set here: the object may have been moved
    size_t parsed =
        http_parser_execute(&parser_, &Callbacks::settings(), reinterpret_cast<const char*>(bytes.data()), n);
    if (error_status_) return Step::kError;
    if (HTTP_PARSER_ERRNO(&parser_) != HPE_OK) return fail_parse(bytes.first(n));
    if (!guard_.error().empty()) return fail(400, std::string(guard_.error()));
    if (!guard_.done()) {
        // They disagree about where the head ends only where the request line has no version.
        if (head_done_ || parsed != n) return fail(400, "malformed request line");
        return Step::kNeedMore;
    }
    if (!head_done_) return fail(400, "malformed head");
    request_.headers.trim_values();
    bool good = check_version() && check_method() && check_target() && check_host() && check_framing();
    return good ? Step::kHead : Step::kError;
}

RequestParser::Step RequestParser::fail_parse(std::span<const uint8_t>) {
    http_errno error = HTTP_PARSER_ERRNO(&parser_);
    if (error == HPE_HEADER_OVERFLOW) return fail(431, "the head is too large");
    if (error == HPE_INVALID_METHOD) {
        // A method is a token and a space follows; letters alone are enough to call it one.
        std::string_view start(method_start_, method_bytes_);
        std::string_view word = start.substr(0, start.find(' '));
        bool token =
            !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
        if (token) return fail(501, "unknown method");
    }
    return fail(400, fmt::format("malformed request: {}", http_errno_description(error)));
}

bool RequestParser::check_version() {
    if (parser_.http_major == 0) return note_error(400, "the request line has no HTTP version");
    if (parser_.http_major != 1)
        return note_error(505, fmt::format("HTTP/{}.{}", parser_.http_major, parser_.http_minor));
    request_.minor_version = parser_.http_minor == 0 ? 0 : 1;
    return true;
}

bool RequestParser::check_method() {
    switch (parser_.method) {
        case HTTP_GET:
            request_.method = Method::kGet;
            return true;
        case HTTP_HEAD:
            request_.method = Method::kHead;
            return true;
        case HTTP_POST:
            request_.method = Method::kPost;
            return true;
        case HTTP_PUT:
            request_.method = Method::kPut;
            return true;
        case HTTP_DELETE:
            request_.method = Method::kDelete;
            return true;
        case HTTP_OPTIONS:
            request_.method = Method::kOptions;
            return true;
        case HTTP_PATCH:
            request_.method = Method::kPatch;
            return true;
        default:
            return note_error(501, "method not implemented");
    }
}

bool RequestParser::check_target() {
    for (char c : request_.target)
        if (static_cast<uint8_t>(c) <= ' ' || c == 0x7f) return note_error(400, "control character in the URL");
    auto target = split_target(request_.target);
    if (!target) return note_error(400, target.error().text());
    if (target->path == "*") {
        if (request_.method != Method::kOptions) return note_error(400, "the target * is for OPTIONS only");
        request_.path = request_.raw_path = "*";
        return true;
    }
    auto path = safe_path(target->path);
    if (!path) return note_error(400, path.error().text());
    request_.path = *std::move(path);
    request_.raw_path = target->path;
    request_.raw_query = target->query;
    request_.parameters = parse_query(target->query);
    if (!target->authority.empty()) {
        // User information in a request is an attempt to deceive (RFC 9110, section 4.2.4): parse_host refuses '@'.
        auto host = parse_host(target->authority);
        if (!host) return note_error(400, host.error().text());
        request_.host = std::move(host->host);
        request_.port = host->port;
    }
    return true;
}

bool RequestParser::check_host() {
    size_t count = request_.headers.count("Host");
    if (count > 1) return note_error(400, "more than one Host");
    if (count == 0) return request_.minor_version == 0 || note_error(400, "HTTP/1.1 without Host");
    auto host = parse_host(request_.headers.get("Host"));
    if (!host) return note_error(400, host.error().text());
    // The absolute form wins over the field.
    if (request_.host.empty()) {
        request_.host = std::move(host->host);
        request_.port = host->port;
    }
    return true;
}

bool RequestParser::check_framing() {
    const Headers& headers = request_.headers;
    bool chunked = false;
    if (size_t count = headers.count("Transfer-Encoding")) {
        std::string_view coding = headers.get("Transfer-Encoding");
        // http-parser refuses it beside Content-Length only where it is "chunked".
        if (headers.count("Content-Length")) return note_error(400, "both Transfer-Encoding and Content-Length");
        if (request_.minor_version == 0) return note_error(400, "Transfer-Encoding in HTTP/1.0");
        if (count > 1 || !equal_ignoring_case(coding, "chunked"))
            return note_error(list_has(coding, "chunked") && count == 1 ? 501 : 400,
                              fmt::format("transfer coding other than chunked"));
        chunked = true;
    }
    if (chunked) {
        body_ = BodyReader(BodyReader::Framing::kChunked, 0);
    } else if (headers.count("Content-Length")) {
        body_ = BodyReader(BodyReader::Framing::kLength, parser_.content_length);
    }
    bool close = headers.has_token("Connection", "close");
    request_.keep_alive =
        request_.minor_version == 1 ? !close : !close && headers.has_token("Connection", "keep-alive");
    if (auto expect = headers.find("Expect"); expect && request_.minor_version == 1) {
        if (!equal_ignoring_case(*expect, "100-continue")) return note_error(417, "unknown expectation");
        request_.expects_continue = has_body();
    }
    return true;
}

bool RequestParser::accept_body(size_t limit_bytes) {
    body_limit_ = limit_bytes;
    if (body_.framing() == BodyReader::Framing::kLength && body_.left() > limit_bytes)
        return note_error(413, fmt::format("a body of {} bytes, the limit is {}", body_.left(), limit_bytes));
    return true;
}

RequestParser::Step RequestParser::feed_body(std::span<const uint8_t> bytes, size_t& used) {
    if (body_.left() > body_limit_ && body_.framing() == BodyReader::Framing::kLength)
        return fail(413, "the body is too large");
    while (!body_.done() && used < bytes.size()) {
        auto step = body_.feed(bytes.subspan(used));
        if (!step) return fail(400, step.error().text());
        used += step->used;
        if (step->data.size() > body_limit_ - request_.body.size())
            return fail(413, fmt::format("the body exceeds {} bytes", body_limit_));
        request_.body.append(reinterpret_cast<const char*>(step->data.data()), step->data.size());
    }
    return body_.done() ? Step::kMessage : Step::kNeedMore;
}

}  // namespace http
