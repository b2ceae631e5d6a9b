#pragma once
// HeadGuard: what the distribution's http-parser lets pass and RFC 9112 forbids in a message's head (sections 2.2, 5.1,
// 5.2): lines that end in a bare LF, a CR alone, folded lines, space before the colon, NUL. It also finds where the
// head ends, so that the parser behind it never sees a byte of the body.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace http {

class HeadGuard {
  public:
    // Looks at bytes up to the head's end; returns how many of them are the head's. Check error() then.
    size_t feed(std::span<const uint8_t> bytes);
    bool done() const { return state_ == State::kDone; }
    // Something of the first line was seen: empty lines before it do not count.
    bool started() const { return started_; }
    bool in_first_line() const { return first_line_; }
    // What is wrong; empty while nothing is.
    std::string_view error() const { return error_; }
    void reset() { *this = HeadGuard(); }

  private:
    enum class State : uint8_t { kLineStart, kName, kRest, kCr, kDone };
    void step(uint8_t byte);
    void at_line_start(uint8_t byte);

    State state_ = State::kLineStart;
    bool first_line_ = true;
    bool started_ = false;
    bool line_is_empty_ = false;
    uint8_t previous_ = 0;
    std::string_view error_;
};

}  // namespace http
