#include "protocol/http/head_guard.h"

namespace http {

size_t HeadGuard::feed(std::span<const uint8_t> bytes) {
    size_t i = 0;
    while (i < bytes.size() && state_ != State::kDone && error_.empty()) {
        // In the rest of a line only control characters matter.
        while (state_ == State::kRest && i < bytes.size() && bytes[i] >= 0x20) ++i;
        if (i < bytes.size()) step(bytes[i++]);
    }
    return i;
}

void HeadGuard::at_line_start(uint8_t byte) {
    line_is_empty_ = byte == '\r';
    if (byte == '\r') {
        state_ = State::kCr;
        return;
    }
    if (byte == ' ' || byte == '\t')
        error_ = first_line_ ? "the request line starts with a space" : "folded header line";
    started_ = true;
    state_ = first_line_ ? State::kRest : State::kName;
}

void HeadGuard::step(uint8_t byte) {
    if (byte == 0) error_ = "NUL in the head";
    if (byte == '\n' && state_ != State::kCr) error_ = "line that ends in LF without CR";
    switch (state_) {
        case State::kLineStart:
            at_line_start(byte);
            break;
        case State::kName:
            if (byte == '\r') error_ = "header line without a colon";
            if (byte == ':') {
                if (previous_ == ' ' || previous_ == '\t') error_ = "space before the colon of a header field";
                state_ = State::kRest;
            } else if (byte == ' ' || byte == '\t') {
                // The next byte decides whether this is a space before the colon or inside the name.
                previous_ = byte;
                return;
            } else if (previous_ == ' ' || previous_ == '\t') {
                error_ = "space in the name of a header field";
            }
            break;
        case State::kRest:
            if (byte == '\r') state_ = State::kCr;
            break;
        case State::kCr:
            if (byte != '\n') {
                error_ = "CR without LF";
            } else if (line_is_empty_ && started_) {
                state_ = State::kDone;
            } else {
                // Empty lines before the first line are skipped (RFC 9112, section 2.2).
                if (!line_is_empty_) first_line_ = false;
                state_ = State::kLineStart;
            }
            break;
        case State::kDone:
            break;
    }
    previous_ = byte;
}

}  // namespace http
