#pragma once
// ChunkQueue: a queue in chunks of N items, which never move, so that it grows to any size without a pause. For small
// items that pass through by the thousand: it keeps one chunk when it is emptied.

#include <cstddef>
#include <memory>
#include <type_traits>

#include "base/flat_queue.h"

namespace base {

template <class T, size_t N>
class ChunkQueue {
    static_assert(std::is_trivially_copyable_v<T>, "what was popped is overwritten, not destroyed");

  public:
    bool empty() const { return size_ == 0; }
    size_t size() const { return size_; }
    const T& operator[](size_t i) const { return chunks_[(first_ + i) / N][(first_ + i) % N]; }
    const T& front() const { return (*this)[0]; }
    const T& back() const { return (*this)[size_ - 1]; }

    void push_back(const T& item) {
        const size_t at = first_ + size_;
        if (at / N == chunks_.size()) chunks_.push_back(std::make_unique_for_overwrite<T[]>(N));
        chunks_[at / N][at % N] = item;
        ++size_;
    }
    void pop_front() {
        --size_;
        if (++first_ == N) {
            first_ = 0;
            // The last chunk of an empty queue stays.
            if (chunks_.size() > 1) chunks_.pop_front();
        } else if (size_ == 0) {
            first_ = 0;
        }
    }
    // The index of the first item that the predicate does not hold for; size(): there is none. It must hold for all
    // items before that one, and for none behind it.
    size_t partition_point(auto&& predicate) const {
        size_t begin = 0, end = size_;
        while (begin < end) {
            const size_t middle = begin + (end - begin) / 2;
            if (predicate((*this)[middle]))
                begin = middle + 1;
            else
                end = middle;
        }
        return begin;
    }
    // Bytes of its allocations.
    size_t memory() const { return chunks_.size() * N * sizeof(T) + chunks_.memory(); }

  private:
    FlatQueue<std::unique_ptr<T[]>> chunks_;
    size_t first_ = 0;  // index in the first chunk
    size_t size_ = 0;
};

}  // namespace base
