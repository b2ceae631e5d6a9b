#include "protocol/http/response_parser.h"

#include <fmt/core.h>

#include "base/result.h"

namespace http {

struct ResponseParser::Callbacks {
    static ResponseParser& self(http_parser* parser) { return *static_cast<ResponseParser*>(parser->data); }

    static int field(http_parser* parser, const char* at, size_t n) {
        ResponseParser& p = self(parser);
        if (p.last_was_value_) {
            if (p.response_.headers.size() >= p.limits_.header_count) return -1;
            p.response_.headers.add({}, {});
            p.last_was_value_ = false;
        }
        p.response_.headers.back().first.append(at, n);
        return 0;
    }
    static int value(http_parser* parser, const char* at, size_t n) {
        ResponseParser& p = self(parser);
        p.last_was_value_ = true;
        p.response_.headers.back().second.append(at, n);
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
            s.on_header_field = field;
            s.on_header_value = value;
            s.on_headers_complete = head;
            return s;
        }();
        return table;
    }
};

void ResponseParser::reset() {
    http_parser_init(&parser_, HTTP_RESPONSE);
    guard_.reset();
    body_ = BodyReader();
    response_ = Response();
    head_bytes_ = 0;
    head_done_ = false;
    last_was_value_ = true;
    data_ = {};
    error_text_.clear();
}

ResponseParser::Step ResponseParser::fail(std::string text) {
    error_text_ = std::move(text);
    return Step::kError;
}

ResponseParser::Step ResponseParser::feed(std::span<const uint8_t> bytes, size_t& used) {
    used = 0;
    data_ = {};
    if (!error_text_.empty()) return Step::kError;
    if (!head_done_) return feed_head(bytes, used);
    while (!body_.done() && used < bytes.size()) {
        auto step = body_.feed(bytes.subspan(used));
        if (!step) return fail(step.error().text());
        used += step->used;
        if (step->data.empty()) continue;
        data_ = step->data;
        return Step::kBody;
    }
    return body_.done() ? Step::kMessage : Step::kNeedMore;
}

ResponseParser::Step ResponseParser::finish() {
    if (!error_text_.empty()) return Step::kError;
    if (head_done_ && (body_.done() || body_.framing() == BodyReader::Framing::kUntilClose)) return Step::kMessage;
    return fail("the connection closed in the middle of the response");
}

ResponseParser::Step ResponseParser::feed_head(std::span<const uint8_t> bytes, size_t& used) {
    if (bytes.empty()) return Step::kNeedMore;
    size_t n = guard_.feed(bytes);
    used = n;
    head_bytes_ += n;
    if (head_bytes_ > limits_.header_bytes) return fail("the head is too large");
    parser_.data = this;  // set here: the object may have been moved
    size_t parsed =
        http_parser_execute(&parser_, &Callbacks::settings(), reinterpret_cast<const char*>(bytes.data()), n);
    http_errno error = HTTP_PARSER_ERRNO(&parser_);
    if (error == HPE_CB_header_field) return fail("too many header fields");
    if (error != HPE_OK) return fail(fmt::format("malformed response: {}", http_errno_description(error)));
    if (!guard_.error().empty()) return fail(std::string(guard_.error()));
    if (!guard_.done()) return parsed == n && !head_done_ ? Step::kNeedMore : fail("malformed head");
    if (!head_done_) return fail("malformed head");
    return head_complete();
}

ResponseParser::Step ResponseParser::head_complete() {
    int status = static_cast<int>(parser_.status_code);
    if (parser_.http_major != 1) return fail("not HTTP/1.x");
    if (status < 100 || status > 599) return fail(fmt::format("status {}", status));
    if (status < 200 && status != 101) {
        // Bounded: an endless row of interim responses runs into the head's limit.
        size_t so_far = head_bytes_;
        reset();
        head_bytes_ = so_far;
        return Step::kNeedMore;
    }
    response_.status = status;
    response_.minor_version = parser_.http_minor == 0 ? 0 : 1;
    response_.headers.trim_values();
    const Headers& headers = response_.headers;
    bool close = headers.has_token("Connection", "close");
    response_.keep_alive =
        response_.minor_version == 1 ? !close : !close && headers.has_token("Connection", "keep-alive");
    if (to_head_ || status == 101 || status == 204 || status == 304) return Step::kHead;
    if (headers.count("Transfer-Encoding")) {
        if (!equal_ignoring_case(headers.get("Transfer-Encoding"), "chunked"))
            return fail("transfer coding other than chunked");
        body_ = BodyReader(BodyReader::Framing::kChunked, 0);
    } else if (headers.count("Content-Length")) {
        body_ = BodyReader(BodyReader::Framing::kLength, parser_.content_length);
    } else {
        body_ = BodyReader(BodyReader::Framing::kUntilClose, 0);
        response_.keep_alive = false;
    }
    return Step::kHead;
}

}  // namespace http
