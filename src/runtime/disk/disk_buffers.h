#pragma once
// Internal to the disk. Buffers in sizes of powers of two, kept for reuse up to a bound.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace runtime::disk {

class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(size_t size) : memory_(std::make_unique_for_overwrite<uint8_t[]>(size)), size_(size) {}
    explicit operator bool() const { return memory_ != nullptr; }
    uint8_t* data() { return memory_.get(); }
    const uint8_t* data() const { return memory_.get(); }
    size_t size() const { return size_; }

  private:
    std::unique_ptr<uint8_t[]> memory_;
    size_t size_ = 0;
};

class BufferPool {
  public:
    static constexpr size_t kMinBytes = 16 * 1024;
    static constexpr size_t kMaxBytes = 1024 * 1024;

    Buffer take(size_t size);  // a power of two, kMinBytes to kMaxBytes
    void give(Buffer buffer);
    size_t bytes() const { return bytes_; }  // of all buffers, in use and spare

  private:
    bool drop_another(size_t size);

    static constexpr size_t kSpareBytes = 4 * 1024 * 1024;
    static size_t size_class(size_t size) { return static_cast<size_t>(std::countr_zero(size / kMinBytes)); }
    std::array<std::vector<Buffer>, 7> spare_;
    size_t spare_bytes_ = 0;
    size_t bytes_ = 0;
};

}  // namespace runtime::disk
