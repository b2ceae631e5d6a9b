#pragma once
// Base64Stream: decodes the requests of an HTTP tunnel, which come as base64 (RFC 4648, section 4), in pieces of any
// size. A client encodes each request by itself, so padding may stand within the stream: what follows begins a new
// group. Line ends and spaces are skipped.

#include <cstdint>
#include <span>
#include <vector>

namespace rtsp {

class Base64Stream {
  public:
    // Appends what is complete to out, at most three quarters of the characters and two bytes more. False: a character
    // that is not of base64, or padding in a wrong position; nothing may be fed any more.
    bool feed(std::span<const uint8_t> text, std::vector<uint8_t>& out);

  private:
    uint32_t bits_ = 0;
    uint8_t count_ = 0;    // characters of the group
    uint8_t padding_ = 0;  // of these
};

}  // namespace rtsp
