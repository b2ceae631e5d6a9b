#pragma once
// DatagramRelay: datagrams between two processes that have the same UDP ports, of which only one may receive. That one
// passes on what belongs to no peer of its own (DatagramPort::pass_on()), and the other one's ports get it as if they
// had received it. Both send from their ports themselves.
//
// A datagram is one message of a Unix socket pair: the port's own address, the peer's, the address that it was sent to,
// and the bytes. What the pair has no room for is lost and counted, as it would be in a full receive buffer.

#include <cstdint>
#include <span>
#include <utility>

#include "base/endpoint.h"
#include "base/result.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/process_channel.h"

namespace runtime {

class DatagramRelay {
  public:
    // Between two addresses and the port of each, in bytes: before those of the datagram.
    static constexpr size_t kHeadBytes = 18 + 18 + 16;

    struct Counters {
        uint64_t passed = 0;
        uint64_t lost = 0;     // there was no room
        uint64_t unknown = 0;  // received, for a port that this process does not have
    };

    DatagramRelay() = default;
    ~DatagramRelay() { close(); }  // yields
    DatagramRelay(const DatagramRelay&) = delete;

    // The receiving process's end, and the descriptor of the other's.
    base::Result<OwnedDescriptors> open_passing();
    // Takes the descriptor.
    base::Result<void> open_receiving(int fd);
    // Yields.
    void close();
    const Counters& counters() const { return counters_; }

    // destination: zeros where it is not known.
    void pass(const base::Endpoint& port, const base::Endpoint& from, const base::IpAddress& destination,
              std::span<const uint8_t> bytes);

  private:
    void receive();
    void take(std::span<uint8_t> message);

    int passing_ = -1;
    detail::Watch receiving_;
    Task receiver_;
    Counters counters_;
};

namespace detail {
inline DatagramRelay* datagram_relay = nullptr;  // null: there is no other process, or it receives
}  // namespace detail

}  // namespace runtime
