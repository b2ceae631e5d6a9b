#pragma once
// HMAC-SHA1 (RFC 2104, FIPS 180-4) with a key of at most 64 bytes. It stores the two SHA-1 states after the padded key:
// 40 bytes instead of the 1.2 kB of OpenSSL's HMAC context, and two blocks less to hash per packet than with a fresh
// context.

// The low-level SHA-1 functions are deprecated in OpenSSL 3, but only their state can be stored in 20 bytes.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace srtp {

inline constexpr size_t kSha1Size = 20;

class HmacSha1 {
  public:
    HmacSha1() = default;  // no key: must not be used
    explicit HmacSha1(std::span<const uint8_t> key);

    // The HMAC of data in several parts.
    class Running {
      public:
        void start(const HmacSha1& key);
        void add(std::span<const uint8_t> part);
        std::array<uint8_t, kSha1Size> finish(const HmacSha1& key);

      private:
        SHA_CTX sha_{};
    };

    std::array<uint8_t, kSha1Size> of(std::initializer_list<std::span<const uint8_t>> parts) const;

  private:
    using State = std::array<uint32_t, 5>;
    State inner_{}, outer_{};
};

}  // namespace srtp
