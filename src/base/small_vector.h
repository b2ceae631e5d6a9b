#pragma once
// SmallVector: a vector of which one element lives in the object itself, for lists of which there are thousands and
// most of which hold one thing. 16 bytes with a pointer-sized element, and no allocation until the second. Elements
// move when it grows, as a vector's do. Not copied.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace base {

template <class T>
class SmallVector {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>);

  public:
    SmallVector() {}
    ~SmallVector() {
        clear();
        release();
    }
    SmallVector(const SmallVector&) = delete;
    SmallVector& operator=(const SmallVector&) = delete;

    T* begin() { return data(); }
    T* end() { return data() + size_; }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size_; }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T& front() { return *data(); }
    T& back() { return data()[size_ - 1]; }
    const T& front() const { return *data(); }

    T& push_back(T value) {
        if (size_ == capacity_) grow();
        return *std::construct_at(data() + size_++, std::move(value));
    }
    void clear() {
        while (size_ > 0) std::destroy_at(data() + --size_);
    }
    // Removes those for which it is true, keeps the order, and says how many they were.
    template <class Predicate>
    size_t erase_if(Predicate predicate) {
        T* keep = std::remove_if(begin(), end(), predicate);
        auto erased = static_cast<size_t>(end() - keep);
        for (size_t i = 0; i < erased; ++i) std::destroy_at(data() + --size_);
        return erased;
    }

  private:
    T* data() { return capacity_ == 1 ? &one_ : many_; }
    const T* data() const { return capacity_ == 1 ? &one_ : many_; }
    void grow() {
        CHECK(capacity_ <= UINT32_MAX / 4);
        uint32_t next = capacity_ * 4;
        T* moved = std::allocator<T>().allocate(next);
        std::uninitialized_move(begin(), end(), moved);
        std::destroy(begin(), end());
        release();
        many_ = moved;
        capacity_ = next;
    }
    void release() {
        if (capacity_ > 1) std::allocator<T>().deallocate(many_, capacity_);
    }

    uint32_t size_ = 0;
    uint32_t capacity_ = 1;
    union {
        T one_;
        T* many_;
    };
};

}  // namespace base
