#include "base/slice.h"

#include <malloc.h>

#include <cstdlib>
#include <cstring>

namespace base {
namespace detail {

namespace {

// malloc, not a container: header and bytes are one block, and a resize may move without a copy by us.
SliceBuffer* resize(SliceBuffer* buffer, size_t capacity) {
    CHECK(capacity <= UINT32_MAX);
    auto* p = static_cast<SliceBuffer*>(std::realloc(buffer, sizeof(SliceBuffer) + capacity));
    CHECK(p != nullptr);
    p->references = 1;
    p->used = 0;
    return p;
}

}  // namespace

void slice_buffer_free(SliceBuffer* buffer) { std::free(buffer); }

}  // namespace detail

uint8_t* SliceBlock::cut(size_t bytes) {
    if (!buffer_ || kBytes - buffer_->used < bytes) {
        reset();
        buffer_ = detail::resize(nullptr, kBytes);
    }
    uint8_t* start = buffer_->bytes() + buffer_->used;
    buffer_->used += static_cast<uint32_t>(bytes);
    return start;
}

Slice SliceBlock::copy(std::span<const uint8_t> bytes) {
    if (bytes.empty() || bytes.size() > kLargest) return Slice::copy(bytes);
    uint8_t* start = cut(bytes.size());
    std::memcpy(start, bytes.data(), bytes.size());
    ++buffer_->references;
    return Slice(buffer_, start, static_cast<uint32_t>(bytes.size()));
}

// A part of a message, or of an aggregate of messages, keeps the whole buffer.
size_t Slice::memory() const {
    if (!buffer_) return 0;
    return buffer_->used ? SliceBlock::kBytes : malloc_usable_size(buffer_);
}

Slice Slice::copy(std::span<const uint8_t> bytes) {
    SliceBuilder builder(bytes.size());
    builder.append(bytes);
    return builder.freeze();
}

SliceBuilder::SliceBuilder(size_t capacity) { reserve(capacity); }

SliceBuilder::SliceBuilder(SliceBlock& block, size_t capacity) {
    if (capacity == 0 || capacity > SliceBlock::kLargest) {
        reserve(capacity);
        return;
    }
    data_ = block.cut(capacity);
    buffer_ = block.buffer_;
    ++buffer_->references;
    capacity_ = static_cast<uint32_t>(capacity);
}

void SliceBuilder::reserve(size_t capacity) {
    if (capacity <= capacity_) return;
    if (buffer_ && buffer_->used) {  // a part of a block
        SliceBuilder own(capacity);
        own.append(bytes());
        *this = std::move(own);
        return;
    }
    buffer_ = detail::resize(buffer_, capacity);
    data_ = buffer_->bytes();
    capacity_ = static_cast<uint32_t>(capacity);
}

uint8_t* SliceBuilder::extend(size_t n) {
    if (size_ + n > capacity()) reserve(std::max(size_ + n, capacity() * 2));
    uint8_t* start = data() + size_;
    size_ += static_cast<uint32_t>(n);
    return start;
}

void SliceBuilder::append(std::span<const uint8_t> bytes) {
    if (bytes.empty()) return;
    std::memcpy(extend(bytes.size()), bytes.data(), bytes.size());
}

Slice SliceBuilder::freeze() {
    Slice slice;
    slice.buffer_ = std::exchange(buffer_, nullptr);
    slice.data_ = std::exchange(data_, nullptr);
    slice.size_ = std::exchange(size_, 0);
    capacity_ = 0;
    return slice;
}

}  // namespace base
