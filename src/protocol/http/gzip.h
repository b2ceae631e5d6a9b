#pragma once
// gzip (RFC 1952) for playlists, by zlib, and whether a client accepts it (RFC 9110, 12.5.3).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace http {

// Empty if zlib has no memory.
std::string gzip(std::string_view text);
bool accepts_gzip(std::string_view accept_encoding);

// The beginning of texts that differ in their ends only: it is compressed once. The result is one member, as browsers
// ignore a second one.
class GzipPrefix {
  public:
    // Nothing if zlib has no memory.
    static std::optional<GzipPrefix> make(std::string_view text);
    // With an end, which is stored as it is.
    std::string with(std::string_view end) const;

  private:
    std::string bytes_;  // whole bytes, without the last block
    uint32_t crc_ = 0;
    uint32_t size_ = 0;  // of the text
};

}  // namespace http
