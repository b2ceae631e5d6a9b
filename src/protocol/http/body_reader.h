#pragma once
// BodyReader: reads the body of a message by its framing (RFC 9112, sections 6 and 7): none, Content-Length, chunked,
// or until the connection closes. Strict about chunk sizes and line ends; trailer fields are skipped, up to a bound. It
// does not collect the body: it returns spans of the bytes it was fed.

#include <cstdint>
#include <span>

#include "base/result.h"

namespace http {

class BodyReader {
  public:
    enum class Framing : uint8_t { kNone, kLength, kChunked, kUntilClose };

    BodyReader() = default;
    BodyReader(Framing framing, uint64_t length) : framing_(framing), left_(length) {
        done_ = framing == Framing::kNone || (framing == Framing::kLength && length == 0);
    }

    struct Step {
        size_t used = 0;                // bytes of the input that were consumed
        std::span<const uint8_t> data;  // the piece of body among them
    };
    // One step: consumes some of the input and returns at most one piece of body. Call it while there is input and
    // done() is false. kProtocol: malformed chunks. kLimit: more than kMaxLineBytes of framing without data.
    base::Result<Step> feed(std::span<const uint8_t> bytes);
    bool done() const { return done_; }
    Framing framing() const { return framing_; }
    // Remaining bytes of a Content-Length body.
    uint64_t left() const { return left_; }
    // Limit of consecutive bytes of chunk framing without data: more is treated as an attack.
    static constexpr uint32_t kMaxLineBytes = 4096;

  private:
    enum class ChunkState : uint8_t {
        kSizeStart,
        kSize,
        kSizeSpace,
        kExtension,
        kSizeLf,
        kData,
        kDataCr,
        kDataLf,
        kTrailer
    };
    base::Result<void> framing_byte(uint8_t byte);
    base::Result<void> size_byte(uint8_t byte);
    base::Result<void> trailer_byte(uint8_t byte);

    Framing framing_ = Framing::kNone;
    ChunkState state_ = ChunkState::kSizeStart;
    bool done_ = true;
    uint64_t left_ = 0;  // of the body, or of this chunk
    uint32_t line_bytes_ = 0;
    uint32_t trailer_line_ = 0;  // characters in this trailer line
    uint8_t previous_ = 0;
};

}  // namespace http
