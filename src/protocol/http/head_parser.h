#pragma once
// HeadParser: the grammar of the head of an HTTP/1.0 or 1.1 message (RFC 9112, sections 2 to 5), strictly: lines end in
// CR and LF, are not folded, and have no space before a field's colon. It stops at the head's end; the message parsers
// interpret what it found. Runs of bytes of one kind are taken at once, so that a head costs a few instructions a byte.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "protocol/http/headers.h"
#include "protocol/http/message.h"

namespace http {

class HeadParser {
  public:
    enum class Type : uint8_t { kRequest, kResponse };
    explicit HeadParser(Type type) : type_(type) { reset(); }

    enum class Step : uint8_t {
        kNeedMore,
        kDone,
        kTooLarge,       // more than header_bytes
        kTargetTooLong,  // more than target_bytes
        kTooManyFields,  // more than header_count
        kUnknownMethod,  // a first word of more letters than a method has
        kMalformed,      // error_text()
    };
    // Takes bytes up to the head's end and sets used. After anything but kNeedMore only reset() may be called.
    Step feed(std::span<const uint8_t> bytes, const Limits& limits, size_t& used);

    std::string_view error_text() const { return error_text_; }
    bool done() const { return state_ == State::kDone; }
    // Empty lines before the first one count as part of it.
    bool in_first_line() const { return !first_line_ended_; }
    size_t bytes() const { return bytes_; }  // since the last reset
    // Once done. Method and target are those of a request, and may be moved from, as the fields may, whose values are
    // trimmed. The status is that of a response.
    const std::string& method() const { return method_; }
    std::string& target() { return target_; }
    int status() const { return status_; }
    int major_version() const { return major_; }
    int minor_version() const { return minor_; }
    Headers& headers() { return headers_; }

    // already: bytes that count against header_bytes before the first byte.
    void reset(size_t already = 0);

  private:
    enum class State : uint8_t {
        kBegin,
        kEmptyLine,
        kMethod,
        kTarget,
        kVersion,
        kStatus,
        kReason,
        kLineEnd,
        kLineStart,
        kName,
        kBeforeValue,
        kValue,
        kLastLineEnd,
        kDone,
    };
    size_t take(std::string_view in, const Limits& limits);
    size_t take_method(std::string_view in);
    size_t take_target(std::string_view in, const Limits& limits);
    size_t take_version(std::string_view in);
    size_t take_status(std::string_view in);
    size_t take_line_start(char first, const Limits& limits);
    size_t take_name(std::string_view in);
    size_t take_value(std::string_view in);
    size_t expect_line_feed(char byte, State next);
    size_t fail(Step failure, std::string_view text = {});

    const Type type_;
    State state_;
    Step failure_;  // kNeedMore: none
    std::string_view error_text_;
    bool first_line_ended_;
    size_t bytes_;
    std::string method_, target_;
    size_t in_version_;  // characters of "HTTP/1.1" that were there
    int major_, minor_;
    int status_, status_digits_;
    Headers headers_;
};

}  // namespace http
