#include "protocol/http/request_parser.h"

#include <fmt/core.h>

#include "base/result.h"
#include "protocol/http/request_fields.h"

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
        case Method::kOther:
            return "other";
    }
    return "GET";
}

void RequestParser::reset() {
    head_.reset();
    body_ = BodyReader();
    request_ = Request();
    body_limit_ = limits_.body_bytes;
    error_status_ = 0;
    error_text_.clear();
}

// Always returns false, so that callers can return the result.
bool RequestParser::set_error(int status, std::string text) {
    if (error_status_ == 0) {
        error_status_ = status;
        error_text_ = std::move(text);
    }
    return false;
}

RequestParser::Step RequestParser::fail(int status, std::string text) {
    set_error(status, std::move(text));
    return Step::kError;
}

RequestParser::Step RequestParser::feed(std::span<const uint8_t> bytes, size_t& used) {
    used = 0;
    if (error_status_) return Step::kError;
    return head_.done() ? feed_body(bytes, used) : feed_head(bytes, used);
}

RequestParser::Step RequestParser::feed_head(std::span<const uint8_t> bytes, size_t& used) {
    switch (head_.feed(bytes, limits_, used)) {
        case HeadParser::Step::kNeedMore:
            return Step::kNeedMore;
        case HeadParser::Step::kTooLarge:
            return fail(head_.in_first_line() ? 414 : 431,
                        fmt::format("the head exceeds {} bytes", limits_.header_bytes));
        case HeadParser::Step::kTargetTooLong:
            return fail(414, "the URL is too long");
        case HeadParser::Step::kTooManyFields:
            return fail(431, "too many header fields");
        case HeadParser::Step::kUnknownMethod:
            return fail(501, "unknown method");
        case HeadParser::Step::kMalformed:
            return fail(400, fmt::format("malformed request: {}", head_.error_text()));
        case HeadParser::Step::kDone:
            break;
    }
    request_.headers = std::move(head_.headers());
    request_.target = std::move(head_.target());
    bool good = check_version() && check_method() && check_target() && check_host() && check_framing();
    return good ? Step::kHead : Step::kError;
}

bool RequestParser::check_version() {
    if (head_.major_version() != 1)
        return set_error(505, fmt::format("HTTP/{}.{}", head_.major_version(), head_.minor_version()));
    request_.minor_version = head_.minor_version() == 0 ? 0 : 1;
    return true;
}

bool RequestParser::check_method() {
    if (head_.method() == "CONNECT") return set_error(501, "method not implemented");
    request_.method = parse_method(head_.method());
    return true;
}

bool RequestParser::check_target() {
    auto checked = complete_target(request_);
    return checked || set_error(400, checked.error().text());
}

bool RequestParser::check_host() {
    size_t count = request_.headers.count("Host");
    if (count > 1) return set_error(400, "more than one Host");
    if (count == 0) return request_.minor_version == 0 || set_error(400, "HTTP/1.1 without Host");
    auto checked = set_host(request_, request_.headers.get("Host"));
    return checked || set_error(400, checked.error().text());
}

bool RequestParser::check_framing() {
    const Headers& headers = request_.headers;
    bool chunked = false;
    if (size_t count = headers.count("Transfer-Encoding")) {
        std::string_view coding = headers.get("Transfer-Encoding");
        if (headers.count("Content-Length")) return set_error(400, "both Transfer-Encoding and Content-Length");
        if (request_.minor_version == 0) return set_error(400, "Transfer-Encoding in HTTP/1.0");
        if (count > 1 || !equal_ignoring_case(coding, "chunked"))
            return set_error(list_has(coding, "chunked") && count == 1 ? 501 : 400,
                             fmt::format("transfer coding other than chunked"));
        chunked = true;
    }
    if (chunked) {
        body_ = BodyReader(BodyReader::Framing::kChunked, 0);
    } else if (size_t count = headers.count("Content-Length")) {
        uint64_t length = 0;
        if (count > 1) return set_error(400, "more than one Content-Length");
        if (!parse_length(headers.get("Content-Length"), length)) return set_error(400, "malformed Content-Length");
        body_ = BodyReader(BodyReader::Framing::kLength, length);
    }
    bool close = headers.has_token("Connection", "close");
    request_.keep_alive =
        request_.minor_version == 1 ? !close : !close && headers.has_token("Connection", "keep-alive");
    if (auto expect = headers.find("Expect"); expect && request_.minor_version == 1) {
        if (!equal_ignoring_case(*expect, "100-continue")) return set_error(417, "unknown expectation");
        request_.expects_continue = has_body();
    }
    return true;
}

bool RequestParser::accept_body(size_t limit_bytes) {
    body_limit_ = limit_bytes;
    if (body_.framing() == BodyReader::Framing::kLength && body_.left() > limit_bytes)
        return set_error(413, fmt::format("a body of {} bytes, the limit is {}", body_.left(), limit_bytes));
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
