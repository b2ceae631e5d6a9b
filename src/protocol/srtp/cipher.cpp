// Of a cipher's own, as OpenSSL 3 still has it: see cipher_of().
#define OPENSSL_SUPPRESS_DEPRECATED

#include "protocol/srtp/cipher.h"

#include <openssl/evp.h>

#include "base/result.h"

namespace srtp {

namespace {

// OpenSSL 3 asks its provider for the IV's length and the tag by their names, for each packet: 180 of 450 ns. A cipher
// that is an application's own, be it a copy of a built-in one, goes the way of OpenSSL 1.1 to the same code of AES and
// GHASH. OpenSSL 4 has this no more.
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

// No call here fails by what a packet has in it.
void update(EVP_CIPHER_CTX* context, uint8_t* out, std::span<const uint8_t> in) {
    int written = 0;
    if (!in.empty()) CHECK(EVP_CipherUpdate(context, out, &written, in.data(), static_cast<int>(in.size())) == 1);
}

void begin(EVP_CIPHER_CTX* context, const uint8_t* iv) {
    CHECK(EVP_CipherInit_ex2(context, nullptr, nullptr, iv, -1, nullptr) == 1);
}

}  // namespace

void Cipher::Free::operator()(evp_cipher_ctx_st* context) const { EVP_CIPHER_CTX_free(context); }

Cipher::Cipher(Profile profile, Key key, Use use) : context_(EVP_CIPHER_CTX_new()) {
    CHECK(context_ != nullptr);
    set_key(profile, key, use);
}

void Cipher::set_key(Profile profile, Key key, Use use) {
    // Naming the cipher again would make OpenSSL allocate its part of the context anew.
    const EVP_CIPHER* cipher = cipher_of(profile);
    if (EVP_CIPHER_CTX_get0_cipher(context_.get()) == cipher) cipher = nullptr;
    CHECK(EVP_CipherInit_ex2(context_.get(), cipher, key.data(), nullptr, use == Use::kSeal ? 1 : 0, nullptr) == 1);
}

Cipher& Cipher::shared(Profile profile, Key key, Use use) {
    static Cipher ciphers[2];
    Cipher& cipher = ciphers[static_cast<size_t>(profile)];
    if (!cipher.context_) {
        cipher = Cipher(profile, key, use);
    } else {
        cipher.set_key(profile, key, use);
    }
    return cipher;
}

void Cipher::crypt(const uint8_t (&iv)[kCtrIvSize], std::span<const uint8_t> first, std::span<const uint8_t> second,
                   uint8_t* out) {
    begin(context_.get(), iv);
    update(context_.get(), out, first);
    update(context_.get(), out + first.size(), second);
}

void Cipher::seal(const uint8_t (&iv)[kGcmIvSize], std::span<const uint8_t> aad, std::span<const uint8_t> more_aad,
                  std::span<const uint8_t> first, std::span<const uint8_t> second, uint8_t* out) {
    EVP_CIPHER_CTX* context = context_.get();
    begin(context, iv);
    update(context, nullptr, aad);
    update(context, nullptr, more_aad);
    update(context, out, first);
    update(context, out + first.size(), second);
    uint8_t* tag = out + first.size() + second.size();
    int nothing = 0;
    CHECK(EVP_CipherFinal_ex(context, tag, &nothing) == 1);
    CHECK(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kGcmTagSize, tag) == 1);
}

bool Cipher::open(const uint8_t (&iv)[kGcmIvSize], std::span<const uint8_t> aad, std::span<const uint8_t> more_aad,
                  std::span<uint8_t> sealed) {
    EVP_CIPHER_CTX* context = context_.get();
    begin(context, iv);
    auto text = sealed.first(sealed.size() - kGcmTagSize);
    update(context, nullptr, aad);
    update(context, nullptr, more_aad);
    update(context, text.data(), text);
    uint8_t* tag = text.data() + text.size();
    CHECK(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, kGcmTagSize, tag) == 1);
    int nothing = 0;
    uint8_t none[16];
    return EVP_CipherFinal_ex(context, none, &nothing) == 1;
}

}  // namespace srtp
