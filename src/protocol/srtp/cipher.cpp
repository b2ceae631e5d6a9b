// For EVP_CIPHER_meth_dup(), which is deprecated in OpenSSL 3: see direct().
#define OPENSSL_SUPPRESS_DEPRECATED

#include "protocol/srtp/cipher.h"

#include <openssl/evp.h>

#include "base/prefetch.h"
#include "base/result.h"

namespace srtp {

namespace {

// OpenSSL 3 asks its provider for the IV's length and the tag by name for each packet: 180 of 450 ns. An
// application-defined cipher, even a copy of a built-in one, takes the code path of OpenSSL 1.1 to the same
// implementation of AES and GHASH. OpenSSL 4 does not have this any more.
const EVP_CIPHER* direct(const EVP_CIPHER* built_in, const char* name) {
#if OPENSSL_VERSION_MAJOR < 4 && !defined(OPENSSL_NO_DEPRECATED_3_0)
    if (const EVP_CIPHER* own = EVP_CIPHER_meth_dup(built_in)) return own;
#endif
    // Fetched once: the built-in one would be looked up again each time a context is keyed.
    return EVP_CIPHER_fetch(nullptr, name, nullptr);
}

const EVP_CIPHER* cipher_of(Profile profile) {
    static const EVP_CIPHER* const gcm = direct(EVP_aes_128_gcm(), "AES-128-GCM");
    static const EVP_CIPHER* const ctr = direct(EVP_aes_128_ctr(), "AES-128-CTR");
    return profile == Profile::kAeadAes128Gcm ? gcm : ctr;
}

// EVP_CipherUpdate() does not fail because of a packet's content.
void feed(EVP_CIPHER_CTX* context, uint8_t* out, std::span<const uint8_t> in) {
    int written = 0;
    if (!in.empty()) CHECK(EVP_CipherUpdate(context, out, &written, in.data(), static_cast<int>(in.size())) == 1);
}

}  // namespace

void Cipher::Free::operator()(evp_cipher_ctx_st* context) const { EVP_CIPHER_CTX_free(context); }

Cipher::Cipher(Profile profile, Key key) : context_(EVP_CIPHER_CTX_new()) {
    CHECK(context_ != nullptr);
    set_key(profile, key);
}

void Cipher::set_key(Profile profile, Key key) {
    // Passing the cipher again would make OpenSSL reallocate its part of the context.
    const EVP_CIPHER* cipher = cipher_of(profile);
    if (EVP_CIPHER_CTX_get0_cipher(context_.get()) == cipher) cipher = nullptr;
    CHECK(EVP_CipherInit_ex2(context_.get(), cipher, key.data(), nullptr, 1, nullptr) == 1);
    state_ = EVP_CIPHER_CTX_get_cipher_data(context_.get());
}

Cipher& Cipher::shared(Profile profile, Key key) {
    static Cipher ciphers[2];
    Cipher& cipher = ciphers[static_cast<size_t>(profile)];
    if (!cipher.context_) {
        cipher = Cipher(profile, key);
    } else {
        cipher.set_key(profile, key);
    }
    return cipher;
}

void Cipher::begin(std::span<const uint8_t> iv, Use use) {
    CHECK(EVP_CipherInit_ex2(context_.get(), nullptr, nullptr, iv.data(), use == Use::kSeal ? 1 : 0, nullptr) == 1);
}

void Cipher::update_aad(std::span<const uint8_t> aad) { feed(context_.get(), nullptr, aad); }

void Cipher::update(std::span<const uint8_t> text, uint8_t* out) { feed(context_.get(), out, text); }

void Cipher::finish_seal(std::span<uint8_t> tag) {
    int nothing = 0;
    CHECK(EVP_CipherFinal_ex(context_.get(), tag.data(), &nothing) == 1);
    CHECK(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag.size()), tag.data()) == 1);
}

bool Cipher::finish_open(std::span<const uint8_t> tag) {
    auto* bytes = const_cast<uint8_t*>(tag.data());  // not modified: OpenSSL copies the bytes
    CHECK(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag.size()), bytes) == 1);
    int nothing = 0;
    uint8_t none[16];
    return EVP_CipherFinal_ex(context_.get(), none, &nothing) == 1;
}

void Cipher::prefetch() const {
    // OpenSSL keeps its sizes to itself. Those of OpenSSL 3.0: the context, and the round keys with GHASH's tables.
    constexpr size_t kContextBytes = 192, kStateBytes = 768;
    if (context_) base::prefetch(context_.get(), kContextBytes);
    if (state_) base::prefetch(state_, kStateBytes);
}

void Cipher::crypt(const uint8_t (&iv)[kCtrIvSize], std::span<const uint8_t> first, std::span<const uint8_t> second,
                   uint8_t* out) {
    begin(iv, Use::kSeal);
    update(first, out);
    update(second, out + first.size());
}

void Cipher::seal(const uint8_t (&iv)[kGcmIvSize], std::span<const uint8_t> aad, std::span<const uint8_t> more_aad,
                  std::span<const uint8_t> first, std::span<const uint8_t> second, uint8_t* out) {
    begin(iv, Use::kSeal);
    update_aad(aad);
    update_aad(more_aad);
    update(first, out);
    update(second, out + first.size());
    finish_seal({out + first.size() + second.size(), kGcmTagSize});
}

}  // namespace srtp
