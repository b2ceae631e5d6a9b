#pragma once
// SlimVector: a vector of one pointer, for lists of which there are thousands and most of which are empty: how many
// there are lies in front of the elements. Empty, it holds no memory. Elements move when it grows, as a vector's do.
// Not copied. Beside it, SmallVector is for lists that mostly hold one thing.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace base {

template <class T>
class SlimVector {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>);

  public:
    SlimVector() = default;
    ~SlimVector() { clear(); }
    SlimVector(const SlimVector&) = delete;
    SlimVector& operator=(const SlimVector&) = delete;

    T* begin() { return block_ ? elements(block_) : nullptr; }
    T* end() { return begin() + size(); }
    const T* begin() const { return block_ ? elements(block_) : nullptr; }
    const T* end() const { return begin() + size(); }
    size_t size() const { return block_ ? block_->size : 0; }
    size_t capacity() const { return block_ ? block_->capacity : 0; }
    bool empty() const { return !block_; }
    // index < size()
    T& operator[](size_t index) { return elements(block_)[index]; }
    const T& operator[](size_t index) const { return elements(block_)[index]; }
    // Of one that is not empty.
    T& front() { return *elements(block_); }
    T& back() { return elements(block_)[block_->size - 1]; }
    const T& front() const { return *elements(block_); }
    const T& back() const { return elements(block_)[block_->size - 1]; }

    T& push_back(T value) {
        if (size() == capacity()) {
            CHECK(capacity() <= UINT32_MAX / 2);
            move_to(block_ ? block_->capacity * 2 : 1);
        }
        return *std::construct_at(begin() + block_->size++, std::move(value));
    }
    T& push_front(T value) {
        push_back(std::move(value));
        std::rotate(begin(), end() - 1, end());
        return front();
    }
    // count <= size()
    void erase_front(size_t count) {
        std::move(begin() + count, end(), begin());
        drop_back(count);
    }
    // Removes those for which it is true, keeps the order, and says how many they were.
    template <class Predicate>
    size_t erase_if(Predicate predicate) {
        T* keep = std::remove_if(begin(), end(), predicate);
        return drop_back(static_cast<size_t>(end() - keep));
    }
    void clear() { drop_back(size()); }
    // Gives back what it has set aside beyond its elements.
    void shrink() {
        if (size() < capacity()) move_to(block_->size);
    }

  private:
    struct Block {
        uint32_t size;
        uint32_t capacity;
    };
    static constexpr size_t kAlign = std::max(alignof(Block), alignof(T));
    static constexpr size_t kHead = (sizeof(Block) + kAlign - 1) / kAlign * kAlign;
    static_assert(kAlign <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

    static T* elements(Block* block) { return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(block) + kHead); }

    void move_to(uint32_t capacity) {
        void* memory = ::operator new(kHead + capacity * sizeof(T));
        auto* next = std::construct_at(static_cast<Block*>(memory), static_cast<uint32_t>(size()), capacity);
        std::uninitialized_move(begin(), end(), elements(next));
        std::destroy(begin(), end());
        ::operator delete(std::exchange(block_, next));
    }
    size_t drop_back(size_t count) {
        if (count == 0) return 0;
        std::destroy(end() - count, end());
        block_->size -= static_cast<uint32_t>(count);
        if (block_->size == 0) ::operator delete(std::exchange(block_, nullptr));
        return count;
    }

    Block* block_ = nullptr;
};

}  // namespace base
