// For EVP_CIPHER_meth_dup(), which is deprecated in OpenSSL 3: see fastest().
#define OPENSSL_SUPPRESS_DEPRECATED

#include "protocol/srtp/evp.h"

#include <openssl/evp.h>

#include <algorithm>

#include "base/result.h"

namespace srtp {

namespace {

// OpenSSL 3 asks its provider for the IV's length and the tag by name for each packet: 180 of 450 ns. An
// application-defined cipher, even a copy of a built-in one, takes the code path of OpenSSL 1.1 to the same
// implementation of AES and GHASH. OpenSSL 4 does not have this any more.
const EVP_CIPHER* fastest(const EVP_CIPHER* built_in, const char* name) {
#if OPENSSL_VERSION_MAJOR < 4 && !defined(OPENSSL_NO_DEPRECATED_3_0)
    if (const EVP_CIPHER* own = EVP_CIPHER_meth_dup(built_in)) return own;
#endif
    // Fetched once: the built-in one would be looked up again each time a context is keyed.
    return EVP_CIPHER_fetch(nullptr, name, nullptr);
}

}  // namespace

const EVP_CIPHER* evp_aes_ctr(size_t key_size) {
    static const EVP_CIPHER* const aes_128 = fastest(EVP_aes_128_ctr(), "AES-128-CTR");
    static const EVP_CIPHER* const aes_192 = fastest(EVP_aes_192_ctr(), "AES-192-CTR");
    static const EVP_CIPHER* const aes_256 = fastest(EVP_aes_256_ctr(), "AES-256-CTR");
    return key_size == 16 ? aes_128 : key_size == 24 ? aes_192 : aes_256;
}

const EVP_CIPHER* evp_aes_128_gcm() {
    static const EVP_CIPHER* const cipher = fastest(EVP_aes_128_gcm(), "AES-128-GCM");
    return cipher;
}

void EvpContext::Free::operator()(evp_cipher_ctx_st* context) const { EVP_CIPHER_CTX_free(context); }

EvpContext::EvpContext(const EVP_CIPHER* cipher, std::span<const uint8_t> key) : context_(EVP_CIPHER_CTX_new()) {
    CHECK(context_ != nullptr && key.size() <= kMaxEvpKey);
    CHECK(EVP_CipherInit_ex2(context_.get(), cipher, key.data(), nullptr, 1, nullptr) == 1);
    std::ranges::copy(key, key_.begin());
}

void EvpContext::set_key(std::span<const uint8_t> key) {
    if (std::equal(key.begin(), key.end(), key_.begin())) return;
    std::ranges::copy(key, key_.begin());
    // Passing the cipher again would make OpenSSL reallocate its part of the context.
    CHECK(EVP_CipherInit_ex2(context_.get(), nullptr, key.data(), nullptr, 1, nullptr) == 1);
}

void EvpContext::begin(std::span<const uint8_t> iv, bool encrypt) {
    CHECK(EVP_CipherInit_ex2(context_.get(), nullptr, nullptr, iv.data(), encrypt ? 1 : 0, nullptr) == 1);
}

// EVP_CipherUpdate() does not fail because of a packet's content.
void EvpContext::update(std::span<const uint8_t> in, uint8_t* out) {
    int written = 0;
    if (!in.empty())
        CHECK(EVP_CipherUpdate(context_.get(), out, &written, in.data(), static_cast<int>(in.size())) == 1);
}

void EvpContext::put_tag(std::span<uint8_t> tag) {
    int nothing = 0;
    CHECK(EVP_CipherFinal_ex(context_.get(), tag.data(), &nothing) == 1);
    CHECK(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag.size()), tag.data()) == 1);
}

bool EvpContext::has_tag(std::span<const uint8_t> tag) {
    auto* bytes = const_cast<uint8_t*>(tag.data());  // not modified: OpenSSL copies the bytes
    CHECK(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag.size()), bytes) == 1);
    int nothing = 0;
    uint8_t none[16];
    return EVP_CipherFinal_ex(context_.get(), none, &nothing) == 1;
}

}  // namespace srtp
