#pragma once
// Reads boxes (ISO/IEC 14496-12, 4.2) out of a contiguous span. It does not interpret the contents.

#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"

namespace mp4 {

struct BoxHead {
    uint32_t type = 0;       // as media::fourcc
    uint64_t size = 0;       // of the whole box; 0: until the end of the file
    size_t header_size = 0;  // 8 or 16 bytes
    // False for bytes that cannot be a box: a size smaller than the header, or a type with characters that no box type
    // has.
    bool valid = false;
};

inline constexpr size_t kMaxBoxHead = 16;

// Reads the header of a box; nothing when there are too few bytes.
std::optional<BoxHead> read_box_head(std::span<const uint8_t> bytes);

struct Box {
    uint32_t type = 0;
    std::span<const uint8_t> payload;
};

// Iterates over the boxes in a payload. It stops at an invalid box or one that runs past the end; ok() is false then.
class BoxReader {
  public:
    explicit BoxReader(std::span<const uint8_t> bytes) : rest_(bytes) {}
    std::optional<Box> next();
    bool ok() const { return ok_; }

  private:
    std::span<const uint8_t> rest_;
    bool ok_ = true;
};

}  // namespace mp4
