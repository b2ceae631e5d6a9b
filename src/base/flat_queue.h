#pragma once
// FlatQueue: a queue in one piece of memory, which stays when the queue is emptied. For short queues that are filled
// and emptied all the time: a std::deque allocates and frees a block for each 512 bytes that pass through it.

#include <cstddef>
#include <utility>
#include <vector>

namespace base {

// References and iterators are valid until the next change.
template <class T>
class FlatQueue {
  public:
    bool empty() const { return items_.empty(); }
    size_t size() const { return items_.size() - first_; }
    T& operator[](size_t i) { return items_[first_ + i]; }
    const T& operator[](size_t i) const { return items_[first_ + i]; }
    T& front() { return items_[first_]; }
    const T& front() const { return items_[first_]; }
    T& back() { return items_.back(); }
    const T& back() const { return items_.back(); }
    auto begin() { return items_.begin() + static_cast<ptrdiff_t>(first_); }
    auto begin() const { return items_.begin() + static_cast<ptrdiff_t>(first_); }
    auto end() { return items_.end(); }
    auto end() const { return items_.end(); }

    // item: none of this queue's.
    void push_back(const T& item) {
        grow();
        items_.push_back(item);
    }
    void push_back(T&& item) {
        grow();
        items_.push_back(std::move(item));
    }
    // Takes constant time on average.
    void pop_front() {
        items_[first_++] = T();  // what it holds is released now
        if (first_ == items_.size())
            clear();
        else if (first_ >= kMovedAtOnce && first_ * 2 >= items_.size())
            items_.erase(items_.begin(), items_.begin() + static_cast<ptrdiff_t>(std::exchange(first_, 0)));
    }
    void clear() {
        const bool much_unused = items_.capacity() > kKept && items_.capacity() / 4 > items_.size();
        items_.clear();
        first_ = 0;
        if (much_unused) std::vector<T>().swap(items_);
    }
    // Bytes of its allocation.
    size_t memory() const { return items_.capacity() * sizeof(T); }

  private:
    // It grows by a quarter: the memory stays, and of one that doubles a quarter is unused on average.
    void grow() {
        if (const size_t capacity = items_.capacity(); items_.size() == capacity) [[unlikely]]
            items_.reserve(capacity + capacity / 4 + kLeastGrowth);
    }

    static constexpr size_t kMovedAtOnce = 16;
    static constexpr size_t kLeastGrowth = 16;  // items
    static constexpr size_t kKept = 64;         // items: memory for so many is never given back

    std::vector<T> items_;
    size_t first_ = 0;  // those before it are popped
};

}  // namespace base
