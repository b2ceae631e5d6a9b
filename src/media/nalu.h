#pragma once
// NAL units, as H.264 (7.3.1, 7.4.1, Annex B) and HEVC (the same sections) have them: emulation prevention, walking
// length-prefixed units (ISO/IEC 14496-15) and byte streams with start codes. It does not look into the units.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/slice.h"

namespace media {

// The unit without its emulation prevention bytes (00 00 03 -> 00 00), at most `limit` bytes of it: parameter sets
// are read from the front only.
// What is read of a sequence parameter set: far behind the size, even with all scaling lists.
inline constexpr size_t kMaxSpsBytes = 1024;
std::vector<uint8_t> remove_emulation_prevention(std::span<const uint8_t> nalu, size_t limit = SIZE_MAX);

// Walks length-prefixed NAL units; empty ones are passed over. Whether it reached the end cleanly is ok().
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

// Walks a byte stream with start codes (00 00 01, with any zeros before it and after a unit). Bytes before the first
// start code are passed over. The last unit ends where the stream ends.
class AnnexBReader {
  public:
    explicit AnnexBReader(std::span<const uint8_t> stream);
    std::optional<std::span<const uint8_t>> next();

  private:
    const uint8_t* p_;  // behind a start code, or end_
    const uint8_t* end_;
};

// Appends the unit with a prefix of four bytes.
void append_length_prefixed(base::SliceBuilder& out, std::span<const uint8_t> nalu);

}  // namespace media
