#pragma once
// What a connection needs of encryption where it receives; session_keys.h implements it.

#include <cstdint>
#include <span>

#include "protocol/srt/packet.h"

namespace srt {

// Decrypts a payload in place; false: there is no key for it.
class PayloadDecryptor {
  public:
    virtual ~PayloadDecryptor() = default;
    virtual bool decrypt(const DataHeader& header, std::span<uint8_t> payload) = 0;
};

}  // namespace srt
