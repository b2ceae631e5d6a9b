#pragma once
// AES-128-GCM by OpenSSL; see gcm.h.

#include <cstdint>
#include <span>
#include <string>

#include "protocol/srtp/evp.h"
#include "protocol/srtp/keys.h"

namespace srtp {

inline constexpr size_t kGcmTagSize = 16;
inline constexpr size_t kGcmIvSize = 12;

class GcmOpenssl {
  public:
    explicit GcmOpenssl(Key key) : context_(evp_aes_128_gcm(), key) {}
    // Name and version of the library, for operators.
    static std::string library();
    // The thread's one with this key: valid until its next call.
    static GcmOpenssl& with(Key key);
    // Writes the ciphertext of the concatenation of both parts and behind it a tag of kGcmTagSize bytes. `out` may be
    // the address of the input when there is only one part.
    void seal(const uint8_t (&iv)[kGcmIvSize], std::span<const uint8_t> aad, std::span<const uint8_t> first,
              std::span<const uint8_t> second, uint8_t* out);
    // Decrypts in place. False: the tag, of which the first bytes are enough, is wrong; the text must not be used.
    [[nodiscard]] bool open(const uint8_t (&iv)[kGcmIvSize], std::span<const uint8_t> aad, std::span<uint8_t> text,
                            std::span<const uint8_t> tag);

  private:
    EvpContext context_;
};

}  // namespace srtp
