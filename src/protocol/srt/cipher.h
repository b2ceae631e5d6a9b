#pragma once
// Encryption of payloads (draft-sharabayko-srt-01, 6.2.2 and 6.3.2): AES in counter mode, which is the same in both
// directions. The counter begins with the packet's sequence number, so that the same key must not encrypt two different
// payloads with one number, in whichever direction. Nothing is authenticated. Not thread-safe.

#include <cstdint>
#include <span>

#include "protocol/srt/key_material.h"
#include "protocol/srtp/evp.h"

namespace srt {

class Cipher {
  public:
    Cipher(const AesKey& key, const Salt& salt);

    // out: room for in, elsewhere or at the same address.
    void crypt(uint32_t sequence, std::span<const uint8_t> in, uint8_t* out);

  private:
    srtp::EvpContext context_;
    Salt salt_;
};

}  // namespace srt
