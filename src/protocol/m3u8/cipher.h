#pragma once
// Encryption of whole segments (RFC 8216, 4.3.2.4, METHOD=AES-128): AES-128 in CBC mode with PKCS7 padding. A key is
// used for several segments; each segment has its own IV.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

struct evp_cipher_ctx_st;

namespace m3u8 {

struct SegmentKey {
    std::array<uint8_t, 16> bytes{};
};

class Cipher {
  public:
    Cipher();
    ~Cipher();
    Cipher(const Cipher&) = delete;

    // Begins a segment with a new IV. A key is replaced after fragments_per_key segments.
    base::Result<void> begin(int fragments_per_key);
    const std::shared_ptr<const SegmentKey>& key() const { return key_; }
    const std::string& iv() const { return iv_text_; }  // 32 hex digits, in upper case (RFC 8216, 4.2)
    // Returns the ciphertext available so far; valid until the next call.
    std::span<const uint8_t> encrypt(std::span<const uint8_t> plain);
    std::span<const uint8_t> finish();

  private:
    std::unique_ptr<evp_cipher_ctx_st, void (*)(evp_cipher_ctx_st*)> context_;
    std::shared_ptr<const SegmentKey> key_;
    int used_ = 0;  // segments of the key
    std::string iv_text_;
    std::vector<uint8_t> out_;
};

}  // namespace m3u8
