#pragma once
// A bit cursor, most significant bit first, with the Exp-Golomb codes of H.264 (9.1) and HEVC (9.2). Reads past the end
// return zeros and make ok() false. It does not remove emulation prevention bytes: media/nalu.h does.

#include <cstdint>
#include <span>

namespace base {

class BitReader {
  public:
    explicit BitReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

    bool ok() const { return ok_; }
    size_t bits_left() const { return bytes_.size() * 8 - position_; }

    uint32_t bit() {
        if (position_ >= bytes_.size() * 8) {
            ok_ = false;
            return 0;
        }
        uint32_t value = bytes_[position_ / 8] >> (7 - position_ % 8) & 1;
        ++position_;
        return value;
    }
    // n is at most 32.
    uint32_t bits(int n) {
        uint32_t value = 0;
        for (int i = 0; i < n; ++i) value = value << 1 | bit();
        return value;
    }
    void skip(size_t n) {
        if (n > bits_left()) {
            ok_ = false;
            n = bits_left();
        }
        position_ += n;
    }
    uint32_t ue() {
        int zeros = 0;
        while (ok_ && bit() == 0) ++zeros;
        if (!ok_ || zeros > 31) {
            ok_ = false;
            return 0;
        }
        return (1u << zeros) - 1 + bits(zeros);
    }
    int32_t se() {
        uint32_t k = ue();
        return k & 1 ? static_cast<int32_t>(k / 2 + 1) : -static_cast<int32_t>(k / 2);
    }

  private:
    std::span<const uint8_t> bytes_;
    size_t position_ = 0;
    bool ok_ = true;
};

}  // namespace base
