#include "protocol/dtls/record_keys.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <memory>

#include "base/bytes.h"

namespace dtls {
namespace {

constexpr size_t kExplicitNonce = 8, kTag = 16, kSalt = 4;

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

// The key block of TLS 1.2 (RFC 5246, 6.3): with AES-GCM two keys and two salts, the client's first.
bool key_block(SSL* ssl, const EVP_MD* digest, std::span<uint8_t> out) {
    std::array<uint8_t, SSL_MAX_MASTER_KEY_LENGTH> secret;
    size_t secret_size = SSL_SESSION_get_master_key(SSL_get_session(ssl), secret.data(), secret.size());
    std::array<uint8_t, 2 * SSL3_RANDOM_SIZE> randoms;
    SSL_get_server_random(ssl, randoms.data(), SSL3_RANDOM_SIZE);
    SSL_get_client_random(ssl, randoms.data() + SSL3_RANDOM_SIZE, SSL3_RANDOM_SIZE);
    char label[] = "key expansion";
    EVP_KDF* kdf = EVP_KDF_fetch(nullptr, "TLS1-PRF", nullptr);
    EVP_KDF_CTX* context = EVP_KDF_CTX_new(kdf);
    EVP_KDF_free(kdf);
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, const_cast<char*>(EVP_MD_get0_name(digest)), 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SECRET, secret.data(), secret_size),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, label, sizeof label - 1),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, randoms.data(), randoms.size()),
        OSSL_PARAM_construct_end(),
    };
    const bool done = context && EVP_KDF_derive(context, out.data(), out.size(), parameters) == 1;
    EVP_KDF_CTX_free(context);
    OPENSSL_cleanse(secret.data(), secret.size());
    return done;
}

// The data authenticated in addition to the text: epoch and sequence, type, version, length of the plaintext.
std::array<uint8_t, kRecordHeader> signed_header(std::span<const uint8_t> record, size_t plain_size) {
    std::array<uint8_t, kRecordHeader> header;
    std::copy_n(record.begin() + 3, 8, header.begin());
    std::copy_n(record.begin(), 3, header.begin() + 8);
    base::put_u16(&header[11], static_cast<uint32_t>(plain_size));
    return header;
}

}  // namespace

base::Result<RecordKeys> RecordKeys::of(SSL* ssl, bool client) {
    const SSL_CIPHER* suite = SSL_get_current_cipher(ssl);
    if (!suite) suite = SSL_get_pending_cipher(ssl);
    const int cipher = suite ? SSL_CIPHER_get_cipher_nid(suite) : NID_undef;
    RecordKeys made;
    made.key_size_ = cipher == NID_aes_128_gcm ? 16 : cipher == NID_aes_256_gcm ? 32 : 0;
    if (!made.key_size_) return base::fail(base::Code::kOther, "no suite with AES-GCM");
    std::array<uint8_t, 2 * (32 + kSalt)> block;
    if (!key_block(ssl, SSL_CIPHER_get_handshake_digest(suite), std::span(block).first(2 * (made.key_size_ + kSalt))))
        return base::fail(base::Code::kOther, "no key block");
    const size_t second = client ? 0 : 1;
    std::copy_n(block.begin() + static_cast<ptrdiff_t>(second * made.key_size_), made.key_size_, made.key_.begin());
    std::copy_n(block.begin() + static_cast<ptrdiff_t>(2 * made.key_size_ + second * kSalt), kSalt, made.salt_.begin());
    OPENSSL_cleanse(block.data(), block.size());
    return made;
}

std::vector<uint8_t> RecordKeys::open(const Record& record) const {
    if (record.body.size() <= kExplicitNonce + kTag) return {};
    const auto sealed = record.body.subspan(kExplicitNonce, record.body.size() - kExplicitNonce - kTag);
    std::array<uint8_t, kSalt + kExplicitNonce> nonce;
    std::copy_n(record.body.begin(), kExplicitNonce, std::copy(salt_.begin(), salt_.end(), nonce.begin()));
    const auto header = signed_header(record.all, sealed.size());
    std::array<uint8_t, kTag> tag;
    std::copy(record.body.end() - kTag, record.body.end(), tag.begin());
    const EVP_CIPHER* cipher = key_size_ == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
    const Cipher context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    std::vector<uint8_t> plain(sealed.size());
    int n = 0;
    const bool authentic =
        context && EVP_DecryptInit_ex(context.get(), cipher, nullptr, key_.data(), nonce.data()) == 1 &&
        EVP_DecryptUpdate(context.get(), nullptr, &n, header.data(), header.size()) == 1 &&
        EVP_DecryptUpdate(context.get(), plain.data(), &n, sealed.data(), static_cast<int>(sealed.size())) == 1 &&
        EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, kTag, tag.data()) == 1 &&
        EVP_DecryptFinal_ex(context.get(), plain.data() + n, &n) == 1;
    if (!authentic) plain.clear();
    return plain;
}

bool RecordKeys::reseal(std::span<uint8_t> bytes, uint64_t sequence) const {
    std::span<const uint8_t> rest = bytes;
    const auto record = next_record(rest);
    if (!record) return false;
    const auto plain = open(*record);
    if (plain.empty()) return false;
    base::put_u32(base::put_u16(&bytes[5], static_cast<uint32_t>(sequence >> 32)), static_cast<uint32_t>(sequence));
    // The explicit part of a nonce must never repeat for a key. OpenSSL counts from a random number; this is another
    // random number.
    if (RAND_bytes(&bytes[kRecordHeader], kExplicitNonce) != 1) return false;
    uint8_t* text = bytes.data() + kRecordHeader + kExplicitNonce;
    std::array<uint8_t, kSalt + kExplicitNonce> nonce;
    std::copy_n(&bytes[kRecordHeader], kExplicitNonce, std::copy(salt_.begin(), salt_.end(), nonce.begin()));
    const auto header = signed_header(bytes, plain.size());
    const EVP_CIPHER* cipher = key_size_ == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
    const Cipher context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    int n = 0;
    return context && EVP_EncryptInit_ex(context.get(), cipher, nullptr, key_.data(), nonce.data()) == 1 &&
           EVP_EncryptUpdate(context.get(), nullptr, &n, header.data(), header.size()) == 1 &&
           EVP_EncryptUpdate(context.get(), text, &n, plain.data(), static_cast<int>(plain.size())) == 1 &&
           EVP_EncryptFinal_ex(context.get(), text + n, &n) == 1 &&
           EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kTag, text + plain.size()) == 1;
}

}  // namespace dtls
