#pragma once
// Extends sequence numbers of 16 bits and timestamps of 32 bits to int64 values that never wrap: each is mapped to the
// value nearest to the newest so far. The first keeps its value; one before it may become negative.

#include <cstdint>
#include <optional>
#include <type_traits>

namespace rtp {

template <class T>
class Unwrapper {
  public:
    int64_t unwrap(T value) {
        int64_t result = peek(value);
        if (!newest_ || result > *newest_) newest_ = result;
        return result;
    }
    // The same, without updating the newest value.
    int64_t peek(T value) const {
        if (!newest_) return value;
        auto step = static_cast<std::make_signed_t<T>>(static_cast<T>(value - static_cast<T>(*newest_)));
        return *newest_ + step;
    }
    std::optional<int64_t> newest() const { return newest_; }
    void reset() { newest_.reset(); }

  private:
    std::optional<int64_t> newest_;
};

using SequenceUnwrapper = Unwrapper<uint16_t>;
using TimestampUnwrapper = Unwrapper<uint32_t>;

}  // namespace rtp
