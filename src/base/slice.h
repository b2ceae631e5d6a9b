#pragma once
// Slice: refcounted immutable bytes. Copying a Slice copies a reference, never the bytes; sub-slices share the buffer.
// A SliceBuilder is the only way to write: fill it, then freeze it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace base {

namespace detail {
struct SliceBuffer {
    uint32_t references;
    uint32_t used;  // by parts, of a SliceBlock's memory
    uint8_t* bytes() { return reinterpret_cast<uint8_t*>(this + 1); }
};
void slice_buffer_free(SliceBuffer* buffer);
inline void slice_buffer_release(SliceBuffer* buffer) {
    if (buffer && --buffer->references == 0) slice_buffer_free(buffer);
}
}  // namespace detail

class Slice {
  public:
    Slice() = default;
    Slice(const Slice& other) : buffer_(other.buffer_), data_(other.data_), size_(other.size_) {
        if (buffer_) ++buffer_->references;
    }
    Slice(Slice&& other) noexcept
        : buffer_(std::exchange(other.buffer_, nullptr)),
          data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)) {}
    Slice& operator=(Slice other) noexcept {
        std::swap(buffer_, other.buffer_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Slice() { detail::slice_buffer_release(buffer_); }

    static Slice copy(std::span<const uint8_t> bytes);
    static Slice copy(std::string_view text) {
        return copy(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
    }

    const uint8_t* data() const { return data_; }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const uint8_t* begin() const { return data_; }
    const uint8_t* end() const { return data_ + size_; }
    uint8_t operator[](size_t i) const { return data_[i]; }
    std::span<const uint8_t> bytes() const { return {data_, size_}; }
    operator std::span<const uint8_t>() const { return bytes(); }
    std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
    // Bytes of memory that it keeps allocated: for a part of a block the whole block, otherwise the whole allocation.
    size_t memory() const;
    // No other Slice has its memory.
    bool is_only_reference() const { return buffer_ && buffer_->references == 1; }
    bool shares_memory(const Slice& other) const { return buffer_ && buffer_ == other.buffer_; }

    // The bytes [offset, offset + count) of the same buffer; both are clamped to the slice.
    Slice sub(size_t offset, size_t count = SIZE_MAX) const {
        Slice s(*this);
        offset = offset < s.size_ ? offset : s.size_;
        s.data_ += offset;
        s.size_ -= static_cast<uint32_t>(offset);
        if (count < s.size_) s.size_ = static_cast<uint32_t>(count);
        return s;
    }
    friend bool operator==(const Slice& a, const Slice& b) { return a.text() == b.text(); }

  private:
    friend class SliceBlock;
    friend class SliceBuilder;
    // Its reference to the buffer is counted already.
    Slice(detail::SliceBuffer* buffer, const uint8_t* data, uint32_t size)
        : buffer_(buffer), data_(data), size_(size) {}
    detail::SliceBuffer* buffer_ = nullptr;
    const uint8_t* data_ = nullptr;
    uint32_t size_ = 0;
};

// Memory for many small Slices that are created in sequence and released together, such as a stream's frames: one
// allocation per block, freed with the last Slice in it. A Slice that stays long keeps its neighbours' memory. With the
// address sanitizer each Slice has memory of its own, with its guards.
class SliceBlock {
  public:
#ifdef SRS_SANITIZER
    static constexpr size_t kLargest = 0;
#else
    static constexpr size_t kLargest = 2 * 1024;  // largest Slice that shares a block
#endif

    SliceBlock() = default;
    SliceBlock(const SliceBlock&) = delete;
    ~SliceBlock() { reset(); }
    // A copy, in the block if it has at most kLargest bytes.
    Slice copy(std::span<const uint8_t> bytes);
    // Slices that were cut from the block keep it; the next Slice begins another one.
    void reset() { detail::slice_buffer_release(std::exchange(buffer_, nullptr)); }

  private:
    friend class Slice;
    friend class SliceBuilder;
    static constexpr size_t kBytes = 8 * 1024 - sizeof(detail::SliceBuffer) - 16;  // a malloc of 8 kB in all
    uint8_t* cut(size_t bytes);

    detail::SliceBuffer* buffer_ = nullptr;
};

// Grows by doubling. At most 4 GiB - 1; the caller bounds it far below.
class SliceBuilder {
  public:
    explicit SliceBuilder(size_t capacity = 0);
    // Allocates in the block if the size is at most SliceBlock::kLargest.
    SliceBuilder(SliceBlock& block, size_t capacity);
    SliceBuilder(const SliceBuilder&) = delete;
    SliceBuilder(SliceBuilder&& other) noexcept { *this = std::move(other); }
    SliceBuilder& operator=(SliceBuilder&& other) noexcept {
        std::swap(buffer_, other.buffer_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
        return *this;
    }
    ~SliceBuilder() { detail::slice_buffer_release(buffer_); }

    size_t size() const { return size_; }
    size_t capacity() const { return capacity_; }
    uint8_t* data() { return data_; }
    std::span<const uint8_t> bytes() const { return {data_, size_}; }
    void reserve(size_t capacity);
    void append(std::span<const uint8_t> bytes);
    void append(uint8_t byte) { append(std::span(&byte, 1)); }
    // Makes room for n more bytes and returns where to write them; they count as written.
    uint8_t* extend(size_t n);
    void clear() { size_ = 0; }
    // Removes the bytes from `size` on.
    void truncate(size_t size) {
        if (size < size_) size_ = static_cast<uint32_t>(size);
    }
    // The bytes as a Slice; the builder is empty afterwards.
    Slice freeze();

  private:
    detail::SliceBuffer* buffer_ = nullptr;
    uint8_t* data_ = nullptr;
    uint32_t size_ = 0;
    uint32_t capacity_ = 0;
};

}  // namespace base
