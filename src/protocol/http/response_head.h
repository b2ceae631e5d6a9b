#pragma once
// Writes responses (RFC 9112, sections 4 and 7.1): the status table, the head, chunks.

#include <cstdint>
#include <string>
#include <string_view>

namespace http {

// "Not Found"; "Status" for a number without a name.
std::string_view reason_phrase(int status);

// Builds a head. Characters that would end a line are replaced in values, so that text from a peer cannot forge a
// field.
class HeadWriter {
  public:
    explicit HeadWriter(int status);
    HeadWriter& field(std::string_view name, std::string_view value);
    HeadWriter& field(std::string_view name, uint64_t value);
    // Whole lines, each with its "\r\n", which are written as they are: text of the program, none of a peer.
    HeadWriter& lines(std::string_view text);
    // The head with its empty line. The writer cannot be used afterwards.
    std::string finish();

  private:
    std::string text_;
};

// "1a4\r\n": the line before a chunk's data; kChunkSuffix follows the data. n > 0.
std::string chunk_prefix(size_t n);
inline constexpr std::string_view kChunkSuffix = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace http
