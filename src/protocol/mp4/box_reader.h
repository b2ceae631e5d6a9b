#pragma once
// Reads boxes (ISO/IEC 14496-12, 4.2) out of bytes that are there as a whole. It knows no box's contents.

#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"

namespace mp4 {

struct BoxHead {
    uint32_t type = 0;       // as media::fourcc
    uint64_t size = 0;       // of the whole box; 0: until the end of the file
    size_t header_size = 0;  // 8 or 16 bytes
    // False for what cannot be a box: a size smaller than its own header, a type of characters that none has.
    bool valid = false;
};

inline constexpr size_t kMaxBoxHead = 16;

// The front of a box; nothing when there are too few bytes to tell.
std::optional<BoxHead> read_box_head(std::span<const uint8_t> bytes);

struct Box {
    uint32_t type = 0;
    std::span<const uint8_t> payload;
};

// Walks the boxes in a payload. Ends at one that is none or runs past the end; ok() is false then.
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
