#pragma once
// NAL units of H.264 (7.3.1, 7.4.1, Annex B) and HEVC (the same sections): emulation prevention, iterating over
// length-prefixed units (ISO/IEC 14496-15) and over byte streams with start codes. It does not parse the units.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/slice.h"

namespace media {

// The unit without its emulation prevention bytes (00 00 03 -> 00 00), at most `limit` bytes of it: only the beginning
// of parameter sets is parsed.
// The part of a sequence parameter set that is parsed: well beyond the size fields, even with all scaling lists.
inline constexpr size_t kMaxSpsBytes = 1024;
std::vector<uint8_t> remove_emulation_prevention(std::span<const uint8_t> nalu, size_t limit = SIZE_MAX);

// Iterates over length-prefixed NAL units and skips empty ones. ok() tells whether the end was reached without an
// error.
class NaluReader {
  public:
    // length_size: 1, 2, 3 or 4 bytes. The payload must outlive the reader.
    NaluReader(std::span<const uint8_t> payload, int length_size)
        : p_(payload.data()), end_(payload.data() + payload.size()), length_size_(length_size) {}

    std::optional<std::span<const uint8_t>> next() {
        while (p_ != end_) {
            if (end_ - p_ < length_size_) return broken();
            uint32_t size = 0;
            for (int i = 0; i < length_size_; ++i) size = size << 8 | p_[i];
            p_ += length_size_;
            if (size > static_cast<size_t>(end_ - p_)) return broken();
            p_ += size;
            if (size) return std::span(p_ - size, size);
        }
        return std::nullopt;
    }
    bool ok() const { return ok_; }

  private:
    std::nullopt_t broken() {
        ok_ = false;
        p_ = end_;
        return std::nullopt;
    }
    const uint8_t* p_;
    const uint8_t* end_;
    int length_size_;
    bool ok_ = true;
};

// The position of the first start code, 00 00 01; the unit's size: it has none, as it should be.
size_t find_start_code(std::span<const uint8_t> nalu);

// Iterates over a byte stream with start codes (00 00 01, with any zeros before it and after a unit). Bytes before the
// first start code are skipped. The last unit ends where the stream ends.
class AnnexBReader {
  public:
    explicit AnnexBReader(std::span<const uint8_t> stream);
    std::optional<std::span<const uint8_t>> next();

  private:
    const uint8_t* p_;  // after a start code, or end_
    const uint8_t* end_;
};

// Appends the unit with a prefix of four bytes.
void append_length_prefixed(base::SliceBuilder& out, std::span<const uint8_t> nalu);

}  // namespace media
