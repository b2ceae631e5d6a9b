#pragma once
// Internal. The datagrams of a flight (RFC 6347, 4.2.4), kept to be sent again.

#include <cstdint>
#include <span>
#include <vector>

namespace dtls {

class Flight {
  public:
    void clear();
    void add(std::span<const uint8_t> datagram);
    // All of it once more. Records in the clear get sequence numbers of their own each time.
    void again() { next_ = 0; }
    std::span<uint8_t> to_change() { return bytes_; }
    // The next one to send; empty: none. Valid until the flight changes.
    std::span<const uint8_t> next();
    bool sent() const { return next_ == ends_.size(); }
    std::span<const uint8_t> bytes() const { return bytes_; }

    // How many datagrams were ever added.
    uint32_t added() const { return added_; }
    // Of the next record in the clear.
    uint64_t sequence() const { return sequence_; }

  private:
    std::vector<uint8_t> bytes_;
    std::vector<uint32_t> ends_;  // of the datagrams in bytes_
    size_t next_ = 0;
    uint64_t sequence_ = 0;
    uint32_t added_ = 0;
};

}  // namespace dtls
