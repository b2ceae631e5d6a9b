#pragma once
// Writing responses (RFC 9112, sections 4 and 7.1): the status table, the head, chunks.

#include <cstdint>
#include <string>
#include <string_view>

namespace http {

// "Not Found"; "Status" where the number has no name.
std::string_view reason_phrase(int status);

// Builds a head. Characters that would end a line are replaced in values, so that no peer's text can forge a field.
class HeadWriter {
  public:
    explicit HeadWriter(int status);
    HeadWriter& field(std::string_view name, std::string_view value);
    HeadWriter& field(std::string_view name, uint64_t value);
    // The head with its empty line; the writer is used up.
    std::string finish();

  private:
    std::string text_;
};

// "1a4\r\n": stands before a chunk's data, "\r\n" behind it. n > 0.
std::string chunk_prefix(size_t n);
inline constexpr std::string_view kChunkSuffix = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace http
