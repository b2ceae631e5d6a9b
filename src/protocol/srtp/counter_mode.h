#pragma once
// AES-128 in counter mode (RFC 3711, 4.1.1), by OpenSSL. Not thread-safe.

#include <cstdint>
#include <span>

#include "protocol/srtp/evp.h"
#include "protocol/srtp/keys.h"

namespace srtp {

inline constexpr size_t kCtrIvSize = 16;

class CounterMode {
  public:
    explicit CounterMode(Key key) : context_(evp_aes_ctr(key.size()), key) {}

    // The thread's one with this key: valid until its next call.
    static CounterMode& with(Key key);

    // Encrypts or decrypts the concatenation of both parts. `out` may be the address of the input when there is only
    // one part.
    void crypt(const uint8_t (&iv)[kCtrIvSize], std::span<const uint8_t> first, std::span<const uint8_t> second,
               uint8_t* out) {
        begin(iv);
        update(first, out);
        update(second, out + first.size());
    }
    // The same in steps.
    void begin(const uint8_t (&iv)[kCtrIvSize]) { context_.begin(iv, true); }
    void update(std::span<const uint8_t> text, uint8_t* out) { context_.update(text, out); }

  private:
    EvpContext context_;
};

}  // namespace srtp
