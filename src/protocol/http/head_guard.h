#pragma once
// HeadGuard: rejects in a message's head what the distribution's http-parser accepts and RFC 9112 forbids (sections
// 2.2, 5.1, 5.2): lines that end in a bare LF, a CR alone, folded lines, a space before the colon, NUL. It also finds
// the end of the head, so that http-parser never sees a byte of the body.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace http {

class HeadGuard {
  public:
    // Checks bytes up to the head's end; returns how many of them belong to the head. Check error() then.
    size_t feed(std::span<const uint8_t> bytes);
    bool done() const { return state_ == State::kDone; }
    // A byte of the first line was seen: empty lines before it do not count.
    bool started() const { return started_; }
    bool in_first_line() const { return first_line_; }
    // The reason why the head is refused; empty: no error.
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
