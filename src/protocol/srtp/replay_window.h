#pragma once
// Which of the last `kSize` packet indices have been seen (RFC 3711, 3.3.2). A bit each, in a ring.

#include <array>
#include <cstddef>
#include <cstdint>

namespace srtp {

template <size_t kSize>
class ReplayWindow {
    static_assert(kSize % 64 == 0 && kSize > 0);

  public:
    bool empty() const { return next_ == 0; }
    uint64_t newest() const { return next_ - 1; }  // only when not empty
    bool is_too_old(uint64_t index) const { return index + kSize < next_; }
    // Of an index that is not too old.
    bool seen(uint64_t index) const { return index < next_ && (word(index) >> index % 64 & 1) != 0; }
    // Of an index that is not too old.
    void add(uint64_t index) {
        if (index >= next_) {
            if (index - next_ >= kSize) {
                bits_.fill(0);
            } else {
                for (uint64_t i = next_; i < index; ++i) word(i) &= ~(uint64_t{1} << i % 64);
            }
            next_ = index + 1;
        }
        word(index) |= uint64_t{1} << index % 64;
    }

  private:
    uint64_t& word(uint64_t index) { return bits_[index / 64 % bits_.size()]; }
    const uint64_t& word(uint64_t index) const { return bits_[index / 64 % bits_.size()]; }
    uint64_t next_ = 0;  // behind the newest
    std::array<uint64_t, kSize / 64> bits_{};
};

}  // namespace srtp
