#pragma once
// Writes STUN messages (RFC 8489) into memory of the caller: attributes in the order of the calls, then finish(), which
// appends MESSAGE-INTEGRITY and FINGERPRINT. When something does not fit, finish() returns 0.

#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/stun/message.h"

namespace stun {

class Writer {
  public:
    Writer(std::span<uint8_t> out, Class kind, const TransactionId& transaction, uint16_t method = kBinding);

    void username(std::string_view value) { attribute(Attribute::kUsername, bytes_of(value)); }
    void priority(uint32_t value) { integer(Attribute::kPriority, value, 4); }
    void controlling(uint64_t tie_breaker) { integer(Attribute::kIceControlling, tie_breaker, 8); }
    void controlled(uint64_t tie_breaker) { integer(Attribute::kIceControlled, tie_breaker, 8); }
    void use_candidate() { attribute(Attribute::kUseCandidate, {}); }
    void mapped(const base::Endpoint& address);
    // Code 300 to 699; the reason may be empty.
    void error(uint16_t code, std::string_view reason);
    void unknown(std::span<const uint16_t> types);
    void attribute(Attribute type, std::span<const uint8_t> value);

    // The message's size, 0 when `out` was too small. An empty key: no integrity.
    size_t finish(std::string_view key, bool fingerprint = true);

  private:
    static std::span<const uint8_t> bytes_of(std::string_view text) {
        return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
    }
    void integer(Attribute type, uint64_t value, size_t size);
    // Reserves room for the value of an attribute; null when there is none.
    uint8_t* begin(Attribute type, size_t size);
    void set_length(size_t end) {
        out_[2] = static_cast<uint8_t>((end - kHeaderSize) >> 8), out_[3] = static_cast<uint8_t>(end - kHeaderSize);
    }

    std::span<uint8_t> out_;
    TransactionId transaction_;
    size_t size_ = 0;
    bool ok_ = true;
};

}  // namespace stun
