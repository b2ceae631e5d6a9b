#pragma once
// SendBatch: many non-blocking sends by one call into the kernel (io_uring), each as try_writev would do it. For the
// one loop there is; nothing yields between the first add() and send(). Where io_uring is refused (containers often do)
// usable() is false, and everybody sends for himself.

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "base/result.h"

namespace runtime {

class ByteStream;
namespace detail {
class TcpStream;
}

class SendBatch {
  public:
    static constexpr size_t kMost = 64;
    static constexpr size_t kMostParts = 4;

    // The loop's. It is empty whenever somebody yields.
    static SendBatch& shared();

    SendBatch();
    ~SendBatch();
    SendBatch(const SendBatch&) = delete;

    // The operator and the kernel allow it. The kernel is asked once, by the first that wants to know.
    bool usable();
    void allow(bool on) { allowed_ = on; }
    size_t size() const { return size_; }
    bool full() const { return size_ == kMost; }

    // The bytes, and the stream, stay until send(). False, and nothing was added: it has no plain socket (TLS), it is
    // not writable as far as is known, the batch is full, or these are too many parts.
    bool add(ByteStream& stream, std::span<const iovec> parts, void* whose);
    // Sends what was added and calls told(whose, Result<size_t> sent, size_t asked) for each, in order.
    template <class Told>
    void send(Told&& told) {
        submit();
        const size_t count = std::exchange(size_, 0);
        for (Entry& entry : std::span(entries_).first(count)) told(entry.whose, result(entry), entry.asked);
    }

  private:
    struct Entry {
        detail::TcpStream* stream = nullptr;
        void* whose = nullptr;
        size_t asked = 0;   // bytes
        ssize_t moved = 0;  // bytes, or a negative errno
        size_t count = 0;
        std::array<iovec, kMostParts> parts{};
    };
    struct Ring;
    void submit();
    static base::Result<size_t> result(Entry& entry);

    bool allowed_ = true;
    enum class State : uint8_t { kUnknown, kUsable, kRefused } state_ = State::kUnknown;
    std::unique_ptr<Ring> ring_;
    std::array<Entry, kMost> entries_;
    size_t size_ = 0;
};

}  // namespace runtime
