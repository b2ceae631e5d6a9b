#pragma once
// RequestParser: the server's side of HTTP/1.0 and 1.1 (RFC 9112) on top of http-parser, strict about ambiguities: line
// ends, folded lines, repeated or conflicting lengths, Host. Every error has the status to answer with: 400, 413, 414,
// 417, 431, 501, 505. It never reads past the message: pipelined requests stay in the caller's bytes. An unknown method
// is accepted as Method::kOther, so that a handler that knows the path can answer 405. Not supported: HTTP/2, and
// CONNECT, which is answered with 501.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "protocol/http/body_reader.h"
#include "protocol/http/head_parser.h"
#include "protocol/http/message.h"

namespace http {

class RequestParser {
  public:
    explicit RequestParser(const Limits& limits) : limits_(limits) { reset(); }

    enum class Step : uint8_t {
        kNeedMore,
        kHead,     // the head is complete: read request(), call accept_body, continue feeding
        kMessage,  // the request is complete: take it, then reset() for the next one
        kError,    // answer error_status() and close
    };
    // Consumes bytes up to the next step and sets used. When no bytes are left after kHead, feed an empty span: a
    // request without a body is complete then.
    Step feed(std::span<const uint8_t> bytes, size_t& used);
    // Call it after kHead. limit_bytes: the largest body accepted. False, with the error set, when the request
    // announces more.
    bool accept_body(size_t limit_bytes);
    // After accept_body(): the body is counted, and not kept in the request.
    void drop_body() { drops_body_ = true; }
    // Bytes of the body that have been fed, without its framing.
    size_t body_bytes() const { return body_bytes_; }

    // A byte of a request was seen since the last reset.
    bool started() const { return head_.bytes() + method_bytes_ > 0; }
    bool has_body() const { return !body_.done(); }
    // After kHead: for a caller that reads the body itself, and feeds no more of it here.
    const BodyReader& body() const { return body_; }
    Request& request() { return request_; }
    int error_status() const { return error_status_; }
    const std::string& error_text() const { return error_text_; }
    void reset();

  private:
    Step feed_head(std::span<const uint8_t> bytes, size_t& used);
    Step feed_body(std::span<const uint8_t> bytes, size_t& used);
    Step fail(int status, std::string text);
    Step fail_parse();
    HeadParser::Step take_method(std::span<const uint8_t> bytes, size_t& used);
    std::string_view method_word() const;
    bool check_version();
    bool check_method();
    bool check_target();
    bool check_host();
    bool check_framing();
    bool set_error(int status, std::string text);

    Limits limits_;
    HeadParser head_{HTTP_REQUEST};
    BodyReader body_;
    Request request_;
    size_t body_limit_ = 0;
    size_t body_bytes_ = 0;
    bool drops_body_ = false;
    // The start of the first line, kept until its first word is complete: http-parser does not know all methods.
    char method_start_[24] = {};
    size_t method_bytes_ = 0;
    bool method_passed_ = false;
    int error_status_ = 0;
    std::string error_text_;
};

}  // namespace http
