#include "base/slice.h"

#include <cstdlib>
#include <cstring>

namespace base {
namespace detail {

// malloc, not a container: header and bytes are one block, and a resize may move without a copy of our own.
SliceBuffer* slice_buffer_resize(SliceBuffer* buffer, size_t capacity) {
    CHECK(capacity <= UINT32_MAX);
    auto* p = static_cast<SliceBuffer*>(std::realloc(buffer, sizeof(SliceBuffer) + capacity));
    CHECK(p != nullptr);
    p->references = 1;
    p->capacity = static_cast<uint32_t>(capacity);
    return p;
}

SliceBuffer* slice_buffer_allocate(size_t capacity) { return slice_buffer_resize(nullptr, capacity); }

void slice_buffer_free(SliceBuffer* buffer) { std::free(buffer); }

}  // namespace detail

Slice Slice::copy(std::span<const uint8_t> bytes) {
    SliceBuilder builder(bytes.size());
    builder.append(bytes);
    return builder.freeze();
}

SliceBuilder::SliceBuilder(size_t capacity) {
    if (capacity) buffer_ = detail::slice_buffer_allocate(capacity);
}

SliceBuilder::~SliceBuilder() {
    if (buffer_) detail::slice_buffer_free(buffer_);
}

void SliceBuilder::reserve(size_t capacity) {
    if (capacity > this->capacity()) buffer_ = detail::slice_buffer_resize(buffer_, capacity);
}

uint8_t* SliceBuilder::extend(size_t n) {
    if (size_ + n > capacity()) reserve(std::max(size_ + n, capacity() * 2));
    uint8_t* place = data() + size_;
    size_ += n;
    return place;
}

void SliceBuilder::append(std::span<const uint8_t> bytes) {
    if (bytes.empty()) return;
    std::memcpy(extend(bytes.size()), bytes.data(), bytes.size());
}

Slice SliceBuilder::freeze() {
    Slice slice;
    slice.buffer_ = std::exchange(buffer_, nullptr);
    slice.data_ = slice.buffer_ ? slice.buffer_->bytes() : nullptr;
    slice.size_ = static_cast<uint32_t>(std::exchange(size_, 0));
    return slice;
}

}  // namespace base
