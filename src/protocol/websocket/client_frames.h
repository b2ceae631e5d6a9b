#pragma once
// ClientFrames: what a server receives (RFC 6455, sections 5.2 to 5.5, 7 and 8.1): masked frames, assembled into
// messages. It is designed for peers that send little: pings, closes, small messages. An error gives the close code to
// answer with. It keeps at most one message, of limited size; between messages it holds no memory of its own.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocol/websocket/frame.h"

namespace websocket {

struct Message {
    Opcode opcode = Opcode::kBinary;  // kText, kBinary, kClose, kPing, kPong
    std::string payload;              // of a close: without the code
    uint16_t close_code = 0;          // of a close: 1005 when it has none
};

class ClientFrames {
  public:
    // message_limit: bytes of one message, all its fragments together.
    explicit ClientFrames(uint32_t message_limit = 4096) : message_limit_(message_limit) {}

    // Consumes bytes up to the end of the next message and sets used; nullopt: more bytes are needed, or it failed.
    // After an error or a close it consumes everything and returns no messages.
    std::optional<Message> feed(std::span<const uint8_t> bytes, size_t& used);
    // Not 0: the peer violated the protocol; close with this code.
    uint16_t error_code() const { return error_code_; }
    std::string_view error_text() const { return error_text_; }

  private:
    bool header_complete() const;
    void parse_header();
    void parse_length();
    void take_payload(std::span<const uint8_t> bytes);
    std::optional<Message> frame_complete();
    std::optional<Message> close_message();
    void fail(uint16_t code, std::string_view text);

    uint32_t message_limit_;
    uint8_t header_[14];
    uint8_t header_bytes_ = 0;
    bool in_payload_ = false;
    bool over_ = false;
    bool final_ = false;
    Opcode opcode_ = Opcode::kContinuation;          // of this frame
    Opcode message_opcode_ = Opcode::kContinuation;  // of the message in progress; kContinuation: none
    uint16_t error_code_ = 0;
    uint32_t payload_left_ = 0;
    uint32_t payload_taken_ = 0;
    std::string message_;  // fragments so far
    std::string control_;  // a control frame's payload: it may come between fragments
    std::string_view error_text_;
};

// Whether the text is UTF-8 (RFC 3629): no overlong forms, no surrogates.
bool is_utf8(std::string_view text);

}  // namespace websocket
