#pragma once
// HeadParser: parses the head of a request or response, with http-parser for the grammar, HeadGuard for what
// http-parser accepts wrongly, and the limits. It stops at the end of the head; the message parsers interpret the
// fields.

#include <http_parser.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "protocol/http/head_guard.h"
#include "protocol/http/headers.h"
#include "protocol/http/message.h"

namespace http {

class HeadParser {
  public:
    explicit HeadParser(http_parser_type type) : type_(type) { reset(); }

    enum class Step : uint8_t {
        kNeedMore,
        kDone,
        kTooLarge,       // more than header_bytes
        kTargetTooLong,  // more than target_bytes
        kTooManyFields,  // more than header_count
        kRefused,        // by http-parser: errno_name()
        kMalformed,      // error_text()
    };
    // Takes bytes up to the head's end and sets used. After anything but kNeedMore only reset() may be called.
    Step feed(std::span<const uint8_t> bytes, const Limits& limits, size_t& used);

    const http_parser& parser() const { return parser_; }
    http_errno error() const { return HTTP_PARSER_ERRNO(&parser_); }
    std::string_view error_text() const { return error_text_; }
    bool done() const { return done_; }
    bool in_first_line() const { return guard_.in_first_line(); }
    bool in_message() const { return guard_.started(); }
    size_t bytes() const { return bytes_; }  // since the last reset
    // The fields with trimmed values, once done. May be moved from.
    Headers& headers() { return headers_; }
    std::string& target() { return target_; }  // of a request

    // already: bytes that count against header_bytes before the first byte.
    void reset(size_t already = 0);

  private:
    struct Callbacks;
    Step malformed(std::string_view text);

    http_parser_type type_;
    http_parser parser_;
    HeadGuard guard_;
    Headers headers_;
    std::string target_;
    const Limits* limits_ = nullptr;  // during feed()
    size_t bytes_ = 0;
    bool done_ = false;
    bool last_was_value_ = true;
    std::string_view error_text_;
};

}  // namespace http
