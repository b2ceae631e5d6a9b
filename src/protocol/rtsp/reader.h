#pragma once
// Reader: requests, responses and interleaved frames of one connection (RFC 2326, sections 4 and 10.12), in the order
// in which they arrive. Bytes are fed as they come; a frame that lies whole in them is not copied. Line ends may be LF
// alone, empty lines between messages are skipped; folded lines are refused. Every error has the status to answer with:
// 400, 413, 431, 505. It does not interpret headers but Content-Length. RTSP 2.0 is refused.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "protocol/rtsp/message.h"

namespace rtsp {

// The bytes before the payload of an interleaved frame: '$', channel, length.
inline constexpr size_t kFrameHeaderSize = 4;

class Reader {
  public:
    // limits: must outlive it.
    explicit Reader(const Limits& limits) : limits_(&limits) {}

    enum class Step : uint8_t {
        kNeedMore,
        kMessage,      // take_message()
        kInterleaved,  // channel(), payload()
        kError,        // answer error_status() and close
    };
    // Consumes bytes up to the next step and sets used. Feed the rest after each step.
    Step feed(std::span<const uint8_t> bytes, size_t& used);

    Message take_message();
    uint8_t channel() const { return channel_; }
    // Valid until the next feed(), and as long as the bytes fed. May be empty.
    std::span<const uint8_t> payload() const { return payload_; }

    // A message or a frame has begun and is not complete.
    bool in_message() const { return state_ != State::kBetween; }
    int error_status() const { return error_ ? error_->status : 0; }
    std::string_view error_text() const { return error_ ? std::string_view(error_->text) : std::string_view(); }
    // Bytes of allocations.
    size_t memory() const { return buffer_.capacity() + (message_ ? sizeof(Message) : 0); }

  private:
    enum class State : uint8_t { kBetween, kHead, kBody, kFrame, kFailed };
    struct Error {
        int status;
        std::string text;
    };

    Step feed_between(std::span<const uint8_t> bytes, size_t& used);
    Step feed_head(std::span<const uint8_t> bytes, size_t& used);
    Step feed_body(std::span<const uint8_t> bytes, size_t& used);
    Step feed_frame(std::span<const uint8_t> bytes, size_t& used);
    Step end_head();
    Step fail(int status, std::string text);
    void release_buffer() { std::string().swap(buffer_); }
    bool parse_first_line(std::string_view line);
    bool parse_field(std::string_view line);
    bool parse_length();
    bool set_version(std::string_view version);

    const Limits* limits_;
    State state_ = State::kBetween;
    bool line_empty_ = false;  // of the head: only CR came since the last LF
    uint8_t channel_ = 0;
    uint32_t body_size_ = 0;
    std::string buffer_;  // of a head or frame under way; its memory is released between messages
    std::unique_ptr<Message> message_;
    std::unique_ptr<Error> error_;
    std::span<const uint8_t> payload_;
};

}  // namespace rtsp
