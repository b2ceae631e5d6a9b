#include "protocol/rtsp/base64_stream.h"

namespace rtsp {

namespace {

// -1: not of the alphabet.
int value_of(uint8_t c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

bool Base64Stream::feed(std::span<const uint8_t> text, std::vector<uint8_t>& out) {
    for (const uint8_t c : text) {
        if (c == '\r' || c == '\n' || c == ' ' || c == '\t') continue;
        if (c == '=') {
            if (count_ < 2) return false;
            ++padding_;
            bits_ <<= 6;
        } else {
            const int value = value_of(c);
            if (value < 0 || padding_ > 0) return false;
            bits_ = bits_ << 6 | static_cast<uint32_t>(value);
        }
        if (++count_ < 4) continue;
        for (int i = 0; i < 3 - padding_; ++i) out.push_back(static_cast<uint8_t>(bits_ >> (16 - 8 * i)));
        bits_ = 0;
        count_ = padding_ = 0;
    }
    return true;
}

}  // namespace rtsp
