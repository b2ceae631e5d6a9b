#include "protocol/rtsp/reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace rtsp {

namespace {

bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

// RFC 9110, 5.6.2.
bool is_token(std::string_view text) {
    constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::ranges::all_of(text, [&](char c) {
        return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || kMarks.contains(c);
    });
}

size_t frame_size(const uint8_t* header) { return kFrameHeaderSize + (size_t{header[2]} << 8 | header[3]); }

}  // namespace

Reader::Step Reader::feed(std::span<const uint8_t> bytes, size_t& used) {
    used = 0;
    while (true) {
        size_t taken = 0;
        Step step = Step::kError;
        const State before = state_;
        switch (state_) {
            case State::kBetween:
                step = feed_between(bytes, taken);
                break;
            case State::kHead:
                step = feed_head(bytes, taken);
                break;
            case State::kBody:
                step = feed_body(bytes, taken);
                break;
            case State::kFrame:
                step = feed_frame(bytes, taken);
                break;
            case State::kFailed:
                return Step::kError;
        }
        used += taken;
        bytes = bytes.subspan(taken);
        if (step != Step::kNeedMore || state_ == before) return step;
    }
}

Message Reader::take_message() {
    Message taken = std::move(*message_);
    message_.reset();
    return taken;
}

Reader::Step Reader::fail(int status, std::string text) {
    state_ = State::kFailed;
    error_ = std::make_unique<Error>(status, std::move(text));
    release_buffer();
    message_.reset();
    return Step::kError;
}

Reader::Step Reader::feed_between(std::span<const uint8_t> bytes, size_t& used) {
    release_buffer();
    while (used < bytes.size() && (bytes[used] == '\r' || bytes[used] == '\n')) ++used;
    if (used == bytes.size()) return Step::kNeedMore;
    const std::span<const uint8_t> rest = bytes.subspan(used);
    if (rest[0] != '$') {
        if ((rest[0] | 0x20) < 'a' || (rest[0] | 0x20) > 'z')
            return fail(400, fmt::format("byte 0x{:02x} where a message or a frame must begin", rest[0]));
        state_ = State::kHead;
        line_empty_ = false;
        return Step::kNeedMore;
    }
    if (rest.size() < kFrameHeaderSize || rest.size() < frame_size(rest.data())) {
        state_ = State::kFrame;
        return Step::kNeedMore;
    }
    channel_ = rest[1];
    payload_ = rest.subspan(kFrameHeaderSize, frame_size(rest.data()) - kFrameHeaderSize);
    used += frame_size(rest.data());
    return Step::kInterleaved;
}

Reader::Step Reader::feed_frame(std::span<const uint8_t> bytes, size_t& used) {
    const auto take = [&](size_t wanted) {
        const size_t count = std::min(wanted - std::min(wanted, buffer_.size()), bytes.size() - used);
        buffer_.append(reinterpret_cast<const char*>(bytes.data()) + used, count);
        used += count;
        return buffer_.size() >= wanted;
    };
    if (!take(kFrameHeaderSize)) return Step::kNeedMore;
    const auto* header = reinterpret_cast<const uint8_t*>(buffer_.data());
    if (!take(frame_size(header))) return Step::kNeedMore;
    const auto* frame = reinterpret_cast<const uint8_t*>(buffer_.data());
    channel_ = frame[1];
    payload_ = std::span(frame, buffer_.size()).subspan(kFrameHeaderSize);
    state_ = State::kBetween;
    return Step::kInterleaved;
}

// Up to the empty line.
Reader::Step Reader::feed_head(std::span<const uint8_t> bytes, size_t& used) {
    for (; used < bytes.size(); ++used) {
        const char c = static_cast<char>(bytes[used]);
        if (buffer_.size() >= limits_->header_bytes)
            return fail(431, fmt::format("more than {} bytes of header", limits_->header_bytes));
        buffer_ += c;
        if (c == '\n') {
            if (line_empty_) {
                ++used;
                return end_head();
            }
            line_empty_ = true;
        } else if (c != '\r') {
            line_empty_ = false;
        }
    }
    return Step::kNeedMore;
}

Reader::Step Reader::end_head() {
    message_ = std::make_unique<Message>();
    std::string_view text = buffer_;
    bool first = true;
    while (!text.empty()) {
        const size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) break;
        if (std::ranges::any_of(line, is_control)) return fail(400, "a control character in the header");
        if (!(first ? parse_first_line(line) : parse_field(line))) return Step::kError;
        first = false;
    }
    if (!parse_length()) return Step::kError;
    release_buffer();
    if (body_size_ > 0) {
        state_ = State::kBody;
        return Step::kNeedMore;
    }
    state_ = State::kBetween;
    return Step::kMessage;
}

bool Reader::set_version(std::string_view version) {
    if (version == "RTSP/1.0") return true;
    message_->is_http = message_->is_request && (version == "HTTP/1.0" || version == "HTTP/1.1");
    if (message_->is_http) return true;
    if (version.starts_with("RTSP/")) {
        fail(505, "a version other than RTSP/1.0");
    } else {
        fail(400, "the first line is neither of a request nor of a response");
    }
    return false;
}

bool Reader::parse_first_line(std::string_view line) {
    const size_t first = line.find(' ');
    if (line.starts_with("RTSP/")) {
        message_->is_request = false;
        const std::string_view rest = line.substr(std::min(first, line.size()));
        const std::string_view digits = rest.size() >= 4 ? rest.substr(1, 3) : std::string_view();
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), message_->status);
        if (error != std::errc() || end != digits.data() + digits.size() || message_->status < 100 ||
            (rest.size() > 4 && rest[4] != ' ')) {
            fail(400, "a response without a status of three digits");
            return false;
        }
        return set_version(line.substr(0, first));
    }
    const size_t last = line.rfind(' ');
    if (first == std::string_view::npos || last <= first + 1 ||
        line.substr(first + 1, last - first - 1).find_first_of(" \t") != std::string_view::npos ||
        !is_token(line.substr(0, first))) {
        fail(400, "the first line is neither of a request nor of a response");
        return false;
    }
    message_->method = method_of(line.substr(0, first));
    message_->url = line.substr(first + 1, last - first - 1);
    if (!set_version(line.substr(last + 1))) return false;
    const bool of_tunnel = message_->method == Method::kGet || message_->method == Method::kPost;
    if (message_->is_http != of_tunnel) {
        fail(message_->is_http ? 405 : 501, message_->is_http ? "an HTTP method that the tunnel does not have"
                                                              : "GET and POST are methods of the HTTP tunnel");
        return false;
    }
    return true;
}

bool Reader::parse_field(std::string_view line) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(http::trim(line.substr(0, colon))) || line[0] == ' ' ||
        line[0] == '\t') {
        fail(400, "a header line without a name");
        return false;
    }
    if (message_->headers.size() >= limits_->header_count) {
        fail(431, fmt::format("more than {} header fields", limits_->header_count));
        return false;
    }
    message_->headers.add(std::string(http::trim(line.substr(0, colon))),
                          std::string(http::trim(line.substr(colon + 1))));
    return true;
}

// The POST of a tunnel states a length that it does not keep.
bool Reader::parse_length() {
    body_size_ = 0;
    if (message_->is_http) return true;
    bool any = false;
    for (const auto& [name, value] : message_->headers) {
        if (!http::equal_ignoring_case(name, "Content-Length")) continue;
        uint32_t size = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
        const bool too_large = error == std::errc::result_out_of_range;
        if (value.empty() || (error != std::errc() && !too_large) || end != value.data() + value.size() ||
            (any && size != body_size_)) {
            fail(400, "Content-Length is no single number");
            return false;
        }
        if (too_large || size > limits_->body_bytes) {
            fail(413, fmt::format("a body of more than {} bytes", limits_->body_bytes));
            return false;
        }
        any = true;
        body_size_ = size;
    }
    return true;
}

Reader::Step Reader::feed_body(std::span<const uint8_t> bytes, size_t& used) {
    used = std::min<size_t>(body_size_ - message_->body.size(), bytes.size());
    message_->body.append(reinterpret_cast<const char*>(bytes.data()), used);
    if (message_->body.size() < body_size_) return Step::kNeedMore;
    state_ = State::kBetween;
    return Step::kMessage;
}

}  // namespace rtsp
