#include "runtime/disk/disk_buffers.h"

#include <algorithm>
#include <utility>

namespace runtime::disk {

Buffer BufferPool::take(size_t size) {
    auto& spare = spare_[size_class(size)];
    if (spare.empty()) {
        bytes_ += size;
        return Buffer(size);
    }
    Buffer buffer = std::move(spare.back());
    spare.pop_back();
    spare_bytes_ -= size;
    return buffer;
}

void BufferPool::give(Buffer buffer) {
    const size_t size = buffer.size();
    if (!size) return;
    // With many files a quarter of the buffers is kept spare: fresh memory would have to be faulted in. A file's buffer
    // size grows with it: spare buffers of the sizes it has outgrown are dropped first.
    const size_t max_spare = std::max(kSpareBytes, bytes_ / 4);
    while (spare_bytes_ + size > max_spare && drop_another(size)) continue;
    if (spare_bytes_ + size > max_spare) {
        bytes_ -= size;
        return;
    }
    spare_bytes_ += size;
    spare_[size_class(size)].push_back(std::move(buffer));
}

// Frees a spare buffer of another size; false: there is none.
bool BufferPool::drop_another(size_t size) {
    for (auto& spare : spare_) {
        if (spare.empty() || spare.front().size() == size) continue;
        spare_bytes_ -= spare.front().size();
        bytes_ -= spare.front().size();
        spare.pop_back();
        return true;
    }
    return false;
}

}  // namespace runtime::disk
