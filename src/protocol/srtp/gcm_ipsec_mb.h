#pragma once
// AES-128-GCM by Intel's Multi-Buffer Crypto library (intel-ipsec-mb), one packet at a time; see gcm.h. The library
// chooses its code for the processor: AES-NI at least, AVX-512 with VAES at best.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "protocol/srtp/gcm_openssl.h"

struct gcm_key_data;

namespace srtp {

class GcmIpsecMb {
  public:
    explicit GcmIpsecMb(Key key);

    // As those of GcmOpenssl.
    static std::string library();
    static GcmIpsecMb& with(Key key);
    void seal(const uint8_t (&iv)[kGcmIvSize], std::span<const uint8_t> aad, std::span<const uint8_t> first,
              std::span<const uint8_t> second, uint8_t* out);
    [[nodiscard]] bool open(const uint8_t (&iv)[kGcmIvSize], std::span<const uint8_t> aad, std::span<uint8_t> text,
                            std::span<const uint8_t> tag);

  private:
    void set_key(Key key);
    struct Free {
        void operator()(gcm_key_data* key) const;
    };
    std::array<uint8_t, kMasterKeySize> key_;
    std::unique_ptr<gcm_key_data, Free> expanded_;  // round keys and powers of the hash key: 1 kB
};

}  // namespace srtp
