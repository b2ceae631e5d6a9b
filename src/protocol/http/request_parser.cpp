#include "protocol/http/request_parser.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/ascii.h"
#include "base/result.h"
#include "protocol/http/request_fields.h"

namespace http {

namespace {
bool is_letter(char c) { return c >= 'A' && c <= 'Z'; }
}  // namespace

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
    body_bytes_ = 0;
    drops_body_ = false;
    method_bytes_ = 0;
    method_passed_ = false;
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
    if (bytes.empty()) return Step::kNeedMore;
    auto step = HeadParser::Step::kNeedMore;
    if (!method_passed_) step = take_method(bytes, used);
    if (step == HeadParser::Step::kNeedMore && used < bytes.size()) {
        size_t more = 0;
        step = head_.feed(bytes.subspan(used), limits_, more);
        used += more;
    }
    switch (step) {
        case HeadParser::Step::kNeedMore:
            return Step::kNeedMore;
        case HeadParser::Step::kTooLarge:
            return fail(head_.in_first_line() ? 414 : 431,
                        fmt::format("the head exceeds {} bytes", limits_.header_bytes));
        case HeadParser::Step::kTargetTooLong:
            return fail(414, "the URL is too long");
        case HeadParser::Step::kTooManyFields:
            return fail(431, "too many header fields");
        case HeadParser::Step::kRefused:
            return fail_parse();
        case HeadParser::Step::kMalformed:
            return fail(400, std::string(head_.error_text()));
        case HeadParser::Step::kDone:
            break;
    }
    request_.headers = std::move(head_.headers());
    request_.target = std::move(head_.target());
    bool good = check_version() && check_method() && check_target() && check_host() && check_framing();
    return good ? Step::kHead : Step::kError;
}

// The method, if it consists of letters and is followed by a space; else empty.
std::string_view RequestParser::method_word() const {
    const std::string_view start(method_start_, method_bytes_);
    const std::string_view word = start.substr(0, start.find(' '));
    return word.size() < start.size() && std::ranges::all_of(word, is_letter) ? word : std::string_view();
}

// Collects the first word until it is complete and passes it to http-parser. An unknown method is passed as TRACE,
// which http-parser accepts.
HeadParser::Step RequestParser::take_method(std::span<const uint8_t> bytes, size_t& used) {
    const auto line_end = [](uint8_t byte) { return byte == '\r' || byte == '\n'; };
    if (method_bytes_ == 0) {
        const auto first = std::ranges::find_if_not(bytes, line_end);
        const auto lines = bytes.first(static_cast<size_t>(first - bytes.begin()));
        auto step = HeadParser::Step::kNeedMore;
        if (!lines.empty()) step = head_.feed(lines, limits_, used);  // empty input means the end to http-parser
        if (step != HeadParser::Step::kNeedMore) return step;
    }
    while (used < bytes.size() && !method_passed_) {
        method_start_[method_bytes_++] = static_cast<char>(bytes[used++]);
        method_passed_ = !is_letter(method_start_[method_bytes_ - 1]) || method_bytes_ == sizeof method_start_;
    }
    if (!method_passed_) return HeadParser::Step::kNeedMore;
    constexpr std::string_view kOurs[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT"};
    std::string_view word(method_start_, method_bytes_);
    if (!method_word().empty() && std::ranges::find(kOurs, method_word()) == std::end(kOurs)) word = "TRACE ";
    size_t fed = 0;
    return head_.feed({reinterpret_cast<const uint8_t*>(word.data()), word.size()}, limits_, fed);
}

RequestParser::Step RequestParser::fail_parse() {
    if (head_.error() == HPE_HEADER_OVERFLOW) return fail(431, "the head is too large");
    // A word without a space may be a method, or the data may not be HTTP; a word of letters only is treated as a
    // method.
    if (head_.error() == HPE_INVALID_METHOD &&
        std::ranges::all_of(std::string_view(method_start_, method_bytes_), is_letter))
        return fail(501, "unknown method");
    return fail(400, fmt::format("malformed request: {}", http_errno_description(head_.error())));
}

bool RequestParser::check_version() {
    if (head_.parser().http_major == 0) return set_error(400, "the request line has no HTTP version");
    if (head_.parser().http_major != 1)
        return set_error(505, fmt::format("HTTP/{}.{}", head_.parser().http_major, head_.parser().http_minor));
    request_.minor_version = head_.parser().http_minor == 0 ? 0 : 1;
    return true;
}

bool RequestParser::check_method() {
    switch (head_.parser().method) {
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
        case HTTP_CONNECT:
            return set_error(501, "method not implemented");
        default:
            request_.method = Method::kOther;
            return true;
    }
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
        // http-parser refuses both together only when the coding is "chunked".
        if (headers.count("Content-Length")) return set_error(400, "both Transfer-Encoding and Content-Length");
        if (request_.minor_version == 0) return set_error(400, "Transfer-Encoding in HTTP/1.0");
        if (count > 1 || !equal_ignoring_case(coding, "chunked"))
            return set_error(list_has(coding, "chunked") && count == 1 ? 501 : 400,
                             fmt::format("transfer coding other than chunked"));
        chunked = true;
    }
    if (chunked) {
        body_ = BodyReader(BodyReader::Framing::kChunked, 0);
    } else if (headers.count("Content-Length")) {
        body_ = BodyReader(BodyReader::Framing::kLength, head_.parser().content_length);
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
        if (step->data.size() > body_limit_ - body_bytes_)
            return fail(413, fmt::format("the body exceeds {} bytes", body_limit_));
        body_bytes_ += step->data.size();
        if (!drops_body_) request_.body.append(reinterpret_cast<const char*>(step->data.data()), step->data.size());
    }
    return body_.done() ? Step::kMessage : Step::kNeedMore;
}

}  // namespace http
