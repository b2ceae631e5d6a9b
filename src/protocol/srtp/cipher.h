#pragma once
// AES-128 by OpenSSL's EVP, as SRTP uses it: counter mode (RFC 3711, 4.1.1) and GCM (RFC 7714). Either the owner keeps
// a context, which takes about 1 kB in OpenSSL, or a process-wide context is keyed again each time. Not thread-safe.

#include <cstdint>
#include <memory>
#include <span>

#include "protocol/srtp/keys.h"

struct evp_cipher_ctx_st;

namespace srtp {

using Key = std::span<const uint8_t, kMasterKeySize>;

inline constexpr size_t kGcmTagSize = 16;
inline constexpr size_t kGcmIvSize = 12;
inline constexpr size_t kCtrIvSize = 16;

class Cipher {
  public:
    enum class Use : uint8_t { kSeal, kOpen };  // the same for counter mode

    Cipher() = default;  // empty
    Cipher(Profile profile, Key key);
    explicit operator bool() const { return context_ != nullptr; }

    // The process-wide context with this key: valid until the next call.
    static Cipher& shared(Profile profile, Key key);

    // Counter mode: encrypts or decrypts the concatenation of both parts. `out` may be the address of the input when
    // there is only one part.
    void crypt(const uint8_t (&iv)[kCtrIvSize], std::span<const uint8_t> first, std::span<const uint8_t> second,
               uint8_t* out);
    // GCM: writes the ciphertext of both parts and a tag of kGcmTagSize bytes.
    void seal(const uint8_t (&iv)[kGcmIvSize], std::span<const uint8_t> aad, std::span<const uint8_t> more_aad,
              std::span<const uint8_t> first, std::span<const uint8_t> second, uint8_t* out);
    // The same in steps, for input in several parts: begin(), GCM's AAD, text (once), tag.
    void begin(std::span<const uint8_t> iv, Use use);
    void update_aad(std::span<const uint8_t> aad);
    void update(std::span<const uint8_t> text, uint8_t* out);
    void finish_seal(std::span<uint8_t> tag);
    // False when the tag is wrong; the output must not be used then.
    bool finish_open(std::span<const uint8_t> tag);
    // base::prefetch() of the key's state.
    void prefetch() const;

  private:
    struct Free {
        void operator()(evp_cipher_ctx_st* context) const;
    };
    void set_key(Profile profile, Key key);
    std::unique_ptr<evp_cipher_ctx_st, Free> context_;
    const void* state_ = nullptr;  // the context's, of the key; for prefetch() only
};

}  // namespace srtp
