#pragma once
// What sockets of datagrams know of threads that send from them (runtime/senders).

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/endpoint.h"

namespace runtime {

// The destination of a datagram. The socket stays open until drain().
struct DatagramTarget {
    int fd = -1;
    bool v6 = false;   // the socket's family
    bool gso = false;  // the kernel knows UDP_SEGMENT
    uint16_t source = 0;
    base::Endpoint to{};
    base::IpAddress source_address{};  // of `source`, where that is not 0
};

// What a job's write sends datagrams by.
class DatagramSink {
  public:
    // Copies the datagram; it is sent by the end of the write.
    virtual void send(std::span<const uint8_t> bytes, const DatagramTarget& target) = 0;

  protected:
    ~DatagramSink() = default;
};

class DatagramSenders {
  public:
    // Waits, and blocks, until they have sent what they were given: before a socket of theirs is closed.
    virtual void drain() = 0;
    // Those that the kernel took of them, and those that were lost on the way to it.
    virtual std::pair<uint64_t, uint64_t> datagrams() const = 0;

  protected:
    ~DatagramSenders() = default;
};

namespace detail {
inline DatagramSenders* datagram_senders = nullptr;  // null: there are no threads
}  // namespace detail

}  // namespace runtime
