#pragma once
// What the users of OpenSSL's symmetric ciphers (EVP) share, here and in protocol/srt.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct evp_cipher_ctx_st;
struct evp_cipher_st;

namespace srtp {

inline constexpr size_t kMaxEvpKey = 32;

// OpenSSL's ciphers, by the fastest way to use them.
// AES in counter mode; key_size: 16, 24 or 32 bytes.
const evp_cipher_st* evp_aes_ctr(size_t key_size);
const evp_cipher_st* evp_aes_128_gcm();

// One cipher's key and the state of an operation.
class EvpContext {
  public:
    // key: of the size that the cipher has, at most kMaxEvpKey.
    EvpContext(const evp_cipher_st* cipher, std::span<const uint8_t> key);
    // Does nothing where it has that key.
    void set_key(std::span<const uint8_t> key);
    void begin(std::span<const uint8_t> iv, bool encrypt);
    // Encrypts or decrypts. out: null for additional authenticated data; may be the address of the input.
    void update(std::span<const uint8_t> in, uint8_t* out);
    // GCM's tag, after all of the text.
    void put_tag(std::span<uint8_t> tag);
    [[nodiscard]] bool has_tag(std::span<const uint8_t> tag);

  private:
    struct Free {
        void operator()(evp_cipher_ctx_st* context) const;
    };
    std::unique_ptr<evp_cipher_ctx_st, Free> context_;
    std::array<uint8_t, kMaxEvpKey> key_;
};

}  // namespace srtp
