#include "protocol/websocket/client_frames.h"

#include <algorithm>
#include <utility>

namespace websocket {

namespace {

bool is_control(Opcode opcode) { return static_cast<uint8_t>(opcode) >= 8; }

// Codes that are allowed in a close frame (RFC 6455, section 7.4).
bool is_close_code(uint16_t code) {
    if (code >= 3000) return code <= 4999;
    return code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006;
}

}  // namespace

void ClientFrames::fail(uint16_t code, std::string_view text) {
    error_code_ = code;
    error_text_ = text;
    over_ = true;
}

std::optional<Message> ClientFrames::feed(std::span<const uint8_t> bytes, size_t& used) {
    used = 0;
    while (!over_ && used < bytes.size()) {
        if (!in_payload_) {
            header_[header_bytes_++] = bytes[used++];
            if (header_bytes_ == 2) parse_header();
            if (over_ || !header_complete()) continue;
            parse_length();
        } else {
            size_t n = std::min<size_t>(payload_left_, bytes.size() - used);
            take_payload(bytes.subspan(used, n));
            used += n;
        }
        if (over_ || payload_left_) continue;
        in_payload_ = false;
        header_bytes_ = 0;
        if (auto message = frame_complete()) return message;
    }
    if (over_) used = bytes.size();
    return std::nullopt;
}

bool ClientFrames::header_complete() const {
    if (header_bytes_ < 2) return false;
    int length = header_[1] & 127;
    return header_bytes_ == (length == 126 ? 8 : length == 127 ? 14 : 6);
}

// Checks the first two bytes, which reveal most protocol errors.
void ClientFrames::parse_header() {
    if (header_[0] & 0x70) return fail(kProtocolError, "reserved bits without an extension");
    final_ = header_[0] & 0x80;
    uint8_t number = header_[0] & 15;
    if ((number > 2 && number < 8) || number > 10) return fail(kProtocolError, "reserved opcode");
    opcode_ = static_cast<Opcode>(number);
    if (!(header_[1] & 0x80)) return fail(kProtocolError, "unmasked frame from a client");
    if (is_control(opcode_)) {
        if (!final_) return fail(kProtocolError, "fragmented control frame");
        if ((header_[1] & 127) > 125) return fail(kProtocolError, "control frame of more than 125 bytes");
        return;
    }
    bool under_way = message_opcode_ != Opcode::kContinuation;
    if (opcode_ == Opcode::kContinuation && !under_way)
        return fail(kProtocolError, "continuation frame without a message");
    if (opcode_ != Opcode::kContinuation && under_way)
        return fail(kProtocolError, "a new message within a fragmented one");
}

void ClientFrames::parse_length() {
    uint64_t length = header_[1] & 127;
    int count = length == 126 ? 2 : length == 127 ? 8 : 0;
    if (count) length = 0;
    for (int i = 0; i < count; ++i) length = length << 8 | header_[2 + i];
    if (count == 8 && length >> 63) return fail(kProtocolError, "frame length with its highest bit set");
    if ((count == 2 && length < 126) || (count == 8 && length <= 0xffff))
        return fail(kProtocolError, "frame length is not the shortest form");
    if (!is_control(opcode_) && length > message_limit_ - message_.size())
        return fail(kMessageTooBig, "message is too big");
    in_payload_ = true;
    payload_left_ = static_cast<uint32_t>(length);
    payload_taken_ = 0;
}

void ClientFrames::take_payload(std::span<const uint8_t> bytes) {
    const uint8_t* mask = header_ + header_bytes_ - 4;
    std::string& out = is_control(opcode_) ? control_ : message_;
    for (uint8_t byte : bytes) out.push_back(static_cast<char>(byte ^ mask[payload_taken_++ & 3]));
    payload_left_ -= static_cast<uint32_t>(bytes.size());
}

std::optional<Message> ClientFrames::frame_complete() {
    Message message;
    if (is_control(opcode_)) {
        if (opcode_ == Opcode::kClose) return close_message();
        message.opcode = opcode_;
        message.payload = std::exchange(control_, {});
        return message;
    }
    if (opcode_ != Opcode::kContinuation) message_opcode_ = opcode_;
    if (!final_) return std::nullopt;
    message.opcode = std::exchange(message_opcode_, Opcode::kContinuation);
    message.payload = std::exchange(message_, {});
    if (message.opcode == Opcode::kText && !is_utf8(message.payload)) {
        fail(kInvalidText, "text that is not UTF-8");
        return std::nullopt;
    }
    return message;
}

std::optional<Message> ClientFrames::close_message() {
    Message message;
    message.opcode = Opcode::kClose;
    std::string payload = std::exchange(control_, {});
    message.close_code = 1005;
    if (!payload.empty()) {
        message.close_code =
            payload.size() < 2
                ? 0
                : static_cast<uint16_t>(static_cast<uint8_t>(payload[0]) << 8 | static_cast<uint8_t>(payload[1]));
        if (!is_close_code(message.close_code)) {
            fail(kProtocolError, "malformed close code");
            return std::nullopt;
        }
        message.payload = payload.substr(2);
        if (!is_utf8(message.payload)) {
            fail(kInvalidText, "close reason that is not UTF-8");
            return std::nullopt;
        }
    }
    over_ = true;
    return message;
}

bool is_utf8(std::string_view text) {
    auto at = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
    auto tail = [&](size_t i) { return (at(i) & 0xc0) == 0x80; };
    for (size_t i = 0; i < text.size();) {
        uint8_t b = at(i), next = at(i + 1);
        if (b < 0x80) {
            i += 1;
        } else if (b >= 0xc2 && b <= 0xdf && tail(i + 1)) {
            i += 2;
        } else if ((b & 0xf0) == 0xe0 && tail(i + 1) && tail(i + 2) && !(b == 0xe0 && next < 0xa0) &&
                   !(b == 0xed && next >= 0xa0)) {
            i += 3;
        } else if (b >= 0xf0 && b <= 0xf4 && tail(i + 1) && tail(i + 2) && tail(i + 3) && !(b == 0xf0 && next < 0x90) &&
                   !(b == 0xf4 && next >= 0x90)) {
            i += 4;
        } else {
            return false;
        }
    }
    return true;
}

}  // namespace websocket
