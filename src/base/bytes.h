#pragma once
// Bounds-checked cursors over bytes, big endian unless the name says le.

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace base {

// Reads. A read past the end returns zeros and makes ok() false from then on: parse a whole header, then check ok()
// once. The bytes must outlive the reader and the spans it returns.
class ByteReader {
  public:
    explicit ByteReader(std::span<const uint8_t> bytes) : p_(bytes.data()), end_(bytes.data() + bytes.size()) {}

    bool ok() const { return ok_; }
    size_t left() const { return static_cast<size_t>(end_ - p_); }
    const uint8_t* position() const { return p_; }
    std::span<const uint8_t> rest() const { return {p_, left()}; }

    uint8_t u8() { return static_cast<uint8_t>(integer<1>()); }
    uint16_t u16() { return static_cast<uint16_t>(integer<2>()); }
    uint32_t u24() { return static_cast<uint32_t>(integer<3>()); }
    uint32_t u32() { return static_cast<uint32_t>(integer<4>()); }
    uint64_t u64() { return integer<8>(); }
    int32_t i24() { return static_cast<int32_t>(u24() << 8) >> 8; }
    uint32_t u32le() { return __builtin_bswap32(u32()); }
    double f64() {
        uint64_t bits = u64();
        double value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }
    std::span<const uint8_t> bytes(size_t n) {
        if (left() < n) {
            fail();
            return {};
        }
        p_ += n;
        return {p_ - n, n};
    }
    std::string_view text(size_t n) {
        auto b = bytes(n);
        return {reinterpret_cast<const char*>(b.data()), b.size()};
    }
    void skip(size_t n) { bytes(n); }

  private:
    template <int N>
    uint64_t integer() {
        if (left() < N) {
            fail();
            return 0;
        }
        uint64_t value = 0;
        for (int i = 0; i < N; ++i) value = value << 8 | p_[i];
        p_ += N;
        return value;
    }
    void fail() {
        ok_ = false;
        p_ = end_;
    }
    const uint8_t* p_;
    const uint8_t* end_;
    bool ok_ = true;
};

// Appends to a vector that the caller owns (and bounds).
class ByteWriter {
  public:
    explicit ByteWriter(std::vector<uint8_t>& out) : out_(out) {}

    void u8(uint8_t value) { out_.push_back(value); }
    void u16(uint16_t value) { integer<2>(value); }
    void u24(uint32_t value) { integer<3>(value); }
    void u32(uint32_t value) { integer<4>(value); }
    void u64(uint64_t value) { integer<8>(value); }
    void u32le(uint32_t value) { u32(__builtin_bswap32(value)); }
    void f64(double value) {
        uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        u64(bits);
    }
    void bytes(std::span<const uint8_t> data) { out_.insert(out_.end(), data.begin(), data.end()); }
    void text(std::string_view data) { out_.insert(out_.end(), data.begin(), data.end()); }
    size_t size() const { return out_.size(); }

  private:
    template <int N>
    void integer(uint64_t value) {
        for (int i = N - 1; i >= 0; --i) out_.push_back(static_cast<uint8_t>(value >> (8 * i)));
    }
    std::vector<uint8_t>& out_;
};

// Loads from fixed offsets of memory that the caller knows to be long enough, for the hot parsers.
inline uint16_t get_u16(const uint8_t* p) { return static_cast<uint16_t>(p[0] << 8 | p[1]); }
inline uint32_t get_u24(const uint8_t* p) { return uint32_t{p[0]} << 16 | uint32_t{p[1]} << 8 | p[2]; }
inline uint32_t get_u32(const uint8_t* p) { return uint32_t{p[0]} << 24 | get_u24(p + 1); }
inline uint32_t get_u32le(const uint8_t* p) { return __builtin_bswap32(get_u32(p)); }

// Stores at fixed offsets into memory that the caller has sized, for the hot encoders.
inline uint8_t* put_u16(uint8_t* p, uint32_t v) {
    p[0] = static_cast<uint8_t>(v >> 8);
    p[1] = static_cast<uint8_t>(v);
    return p + 2;
}
inline uint8_t* put_u24(uint8_t* p, uint32_t v) {
    p[0] = static_cast<uint8_t>(v >> 16);
    return put_u16(p + 1, v);
}
inline uint8_t* put_u32(uint8_t* p, uint32_t v) {
    p[0] = static_cast<uint8_t>(v >> 24);
    return put_u24(p + 1, v);
}
inline uint8_t* put_u32le(uint8_t* p, uint32_t v) { return put_u32(p, __builtin_bswap32(v)); }

}  // namespace base
