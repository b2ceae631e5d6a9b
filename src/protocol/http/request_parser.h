#pragma once
// RequestParser: the server's side of HTTP/1.0 and 1.1 (RFC 9112) over http-parser, strict about what is ambiguous:
// line ends, folded lines, repeated or conflicting lengths, Host. Every error has the status that answers it: 400, 413,
// 414, 431, 501, 505. It never reads past the message: pipelined requests stay in the caller's bytes. A method that we
// do not know is a request like any other, Method::kOther, so that who knows the path may answer it with 405. Not here:
// HTTP/2, and CONNECT, which answers 501.

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
        kHead,     // the head is complete: look at request(), call accept_body, feed on
        kMessage,  // the request is complete: take it, then reset() for the next one
        kError,    // answer error_status() and close
    };
    // Consumes bytes up to the next step and sets used. Feed an empty span after kHead where nothing is left: a request
    // without a body is complete then.
    Step feed(std::span<const uint8_t> bytes, size_t& used);
    // After kHead: the largest body to take, in bytes. False, with the error set, when the request announces more.
    bool accept_body(size_t limit_bytes);

    // A byte of a request was seen since the last reset.
    bool started() const { return head_.bytes() + method_bytes_ > 0; }
    bool has_body() const { return !body_.done(); }
    Request& request() { return request_; }
    int error_status() const { return error_status_; }
    const std::string& error_text() const { return error_text_; }
    void set_limits(const Limits& limits) { limits_ = limits; }
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
    bool note_error(int status, std::string text);

    Limits limits_;
    HeadParser head_{HTTP_REQUEST};
    BodyReader body_;
    Request request_;
    size_t body_limit_ = 0;
    // The first bytes of the first line, kept until its first word is whole: http-parser knows many methods, not all.
    char method_start_[24] = {};
    size_t method_bytes_ = 0;
    bool method_passed_ = false;
    int error_status_ = 0;
    std::string error_text_;
};

}  // namespace http
