#pragma once
// Internal. The datagrams of a flight (RFC 6347, 4.2.4), kept for retransmission.

#include <cstdint>
#include <span>
#include <vector>

namespace dtls {

class Flight {
  public:
    void clear();
    void add(std::span<const uint8_t> datagram);
    // Sends all datagrams once more. Plaintext records get new sequence numbers each time.
    void again() { next_ = 0; }
    std::span<uint8_t> to_change() { return bytes_; }
    // The next datagram to send; empty: none. Valid until the flight changes.
    std::span<const uint8_t> next();
    bool sent() const { return next_ == ends_.size(); }
    std::span<const uint8_t> bytes() const { return bytes_; }

    // The number of datagrams ever added.
    uint32_t added() const { return added_; }
    // The sequence number of the next plaintext record.
    uint64_t sequence() const { return sequence_; }

  private:
    std::vector<uint8_t> bytes_;
    std::vector<uint32_t> ends_;  // of the datagrams in bytes_
    size_t next_ = 0;
    uint64_t sequence_ = 0;
    uint32_t added_ = 0;
};

}  // namespace dtls
