#include "protocol/http/response_parser.h"

#include <fmt/core.h>

#include "base/result.h"

namespace http {

void ResponseParser::reset() {
    head_.reset();
    body_ = BodyReader();
    response_ = Response();
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
    if (!head_.done()) return feed_head(bytes, used);
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
    if (head_.done() && (body_.done() || body_.framing() == BodyReader::Framing::kUntilClose)) return Step::kMessage;
    return fail("the connection closed in the middle of the response");
}

ResponseParser::Step ResponseParser::feed_head(std::span<const uint8_t> bytes, size_t& used) {
    if (bytes.empty()) return Step::kNeedMore;
    switch (head_.feed(bytes, limits_, used)) {
        case HeadParser::Step::kNeedMore:
            return Step::kNeedMore;
        case HeadParser::Step::kDone:
            return head_complete();
        case HeadParser::Step::kTooManyFields:
            return fail("too many header fields");
        case HeadParser::Step::kRefused:
            return fail(fmt::format("malformed response: {}", http_errno_description(head_.error())));
        case HeadParser::Step::kMalformed:
            return fail(std::string(head_.error_text()));
        default:
            return fail("the head is too large");
    }
}

ResponseParser::Step ResponseParser::head_complete() {
    int status = static_cast<int>(head_.parser().status_code);
    if (head_.parser().http_major != 1) return fail("not HTTP/1.x");
    if (status < 100 || status > 599) return fail(fmt::format("status {}", status));
    if (status < 200 && status != 101) {
        // The bytes are carried over: an endless sequence of interim responses exceeds the head's limit.
        size_t so_far = head_.bytes();
        reset();
        head_.reset(so_far);
        return Step::kNeedMore;
    }
    response_.status = status;
    response_.minor_version = head_.parser().http_minor == 0 ? 0 : 1;
    response_.headers = std::move(head_.headers());
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
        body_ = BodyReader(BodyReader::Framing::kLength, head_.parser().content_length);
    } else {
        body_ = BodyReader(BodyReader::Framing::kUntilClose, 0);
        response_.keep_alive = false;
    }
    return Step::kHead;
}

}  // namespace http
