#include "protocol/srtp/crypto_kernel.h"

#include <srtp2/auth.h>
#include <srtp2/cipher.h>
#include <srtp2/srtp.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "protocol/srtp/counter_mode.h"
#include "protocol/srtp/gcm.h"
#include "protocol/srtp/hmac_sha1.h"

namespace srtp {

namespace {

constexpr int kGcmKeySize = kMasterKeySize + kGcmIvSize;
constexpr int kCtrKeySize = kMasterKeySize + kMaxSaltSize;

// The library's state of a cipher: its header, followed by our data. Its calls for one packet come in a row, so that
// all sessions may share the process's contexts.
struct KernelCipher {
    srtp_cipher_t head{};
    std::array<uint8_t, kMasterKeySize> key{};
    unsigned tag_size = 0;                   // of GCM
    std::array<uint8_t, kCtrIvSize> salt{};  // of counter mode; for GCM the library puts it into the IV
};

// What the library passes for one packet of GCM, in several calls.
struct GcmPacket {
    uint8_t iv[kGcmIvSize];
    std::vector<uint8_t> aad;
    std::vector<uint8_t> sealed;  // text and tag; only its self-tests encrypt
} gcm_packet;

struct KernelHmac {
    srtp_auth_t head{};
    HmacSha1 key;
    HmacSha1::Running running;
};

KernelCipher& cipher_of(void* state) { return *static_cast<KernelCipher*>(state); }
KernelHmac& hmac_of(void* state) { return *static_cast<KernelHmac*>(state); }

extern const srtp_cipher_type_t kGcmType, kCtrType;
extern const srtp_auth_type_t kHmacType;

srtp_err_status_t alloc_cipher(srtp_cipher_t** out, const srtp_cipher_type_t& type, int key_size, int tag_size) {
    auto made = std::make_unique<KernelCipher>();
    made->head = {&type, made.get(), key_size, static_cast<int>(type.id)};
    made->tag_size = static_cast<unsigned>(tag_size);
    *out = &made.release()->head;
    return srtp_err_status_ok;
}

srtp_err_status_t dealloc_cipher(srtp_cipher_t* cipher) {
    std::unique_ptr<KernelCipher> gone(&cipher_of(cipher->state));
    explicit_bzero(gone->key.data(), gone->key.size());
    return srtp_err_status_ok;
}

// ---- AES-128 in counter mode

srtp_err_status_t alloc_ctr(srtp_cipher_t** out, int key_size, int) {
    return key_size == kCtrKeySize ? alloc_cipher(out, kCtrType, key_size, 0) : srtp_err_status_bad_param;
}

srtp_err_status_t init_ctr(void* state, const uint8_t* key) {
    KernelCipher& own = cipher_of(state);
    std::copy_n(key, kMasterKeySize, own.key.begin());
    std::copy_n(key + kMasterKeySize, kMaxSaltSize, own.salt.begin());
    return srtp_err_status_ok;
}

srtp_err_status_t set_ctr_iv(void* state, uint8_t* iv, srtp_cipher_direction_t) {
    KernelCipher& own = cipher_of(state);
    uint8_t counter[kCtrIvSize];
    for (size_t i = 0; i < kCtrIvSize; ++i) counter[i] = iv[i] ^ own.salt[i];
    CounterMode::with(own.key).begin(counter);
    return srtp_err_status_ok;
}

srtp_err_status_t crypt_ctr(void* state, uint8_t* bytes, unsigned* size) {
    CounterMode::with(cipher_of(state).key).update({bytes, *size}, bytes);
    return srtp_err_status_ok;
}

// ---- AES-128-GCM

srtp_err_status_t alloc_gcm(srtp_cipher_t** out, int key_size, int tag_size) {
    // The library's own tests use the short tag, too.
    const bool good = key_size == kGcmKeySize && (tag_size == kGcmTagSize || tag_size == kGcmTagSize / 2);
    return good ? alloc_cipher(out, kGcmType, key_size, tag_size) : srtp_err_status_bad_param;
}

srtp_err_status_t init_gcm(void* state, const uint8_t* key) {
    std::copy_n(key, kMasterKeySize, cipher_of(state).key.begin());
    return srtp_err_status_ok;
}

srtp_err_status_t set_gcm_iv(void*, uint8_t* iv, srtp_cipher_direction_t) {
    std::copy_n(iv, kGcmIvSize, gcm_packet.iv);
    gcm_packet.aad.clear();
    return srtp_err_status_ok;
}

// For SRTCP called twice: for the header and for the index.
srtp_err_status_t set_gcm_aad(void*, const uint8_t* bytes, uint32_t size) {
    gcm_packet.aad.insert(gcm_packet.aad.end(), bytes, bytes + size);
    return srtp_err_status_ok;
}

srtp_err_status_t seal_gcm(void* state, uint8_t* text, unsigned* size) {
    gcm_packet.sealed.resize(*size + kGcmTagSize);
    Gcm::with(cipher_of(state).key).seal(gcm_packet.iv, gcm_packet.aad, {}, {text, *size}, gcm_packet.sealed.data());
    std::copy_n(gcm_packet.sealed.begin(), *size, text);
    return srtp_err_status_ok;
}

srtp_err_status_t get_gcm_tag(void* state, uint8_t* tag, uint32_t* size) {
    *size = cipher_of(state).tag_size;
    std::copy_n(gcm_packet.sealed.end() - kGcmTagSize, *size, tag);
    return srtp_err_status_ok;
}

srtp_err_status_t open_gcm(void* state, uint8_t* sealed, unsigned* size) {
    KernelCipher& own = cipher_of(state);
    if (*size < own.tag_size) return srtp_err_status_bad_param;
    *size -= own.tag_size;
    const std::span<const uint8_t> tag(sealed + *size, own.tag_size);
    return Gcm::with(own.key).open(gcm_packet.iv, gcm_packet.aad, {sealed, *size}, tag) ? srtp_err_status_ok
                                                                                        : srtp_err_status_auth_fail;
}

// ---- HMAC-SHA1

srtp_err_status_t alloc_hmac(srtp_auth_t** out, int key_size, int tag_size) {
    const auto most = static_cast<int>(kSha1Size);
    if (key_size < 0 || key_size > most || tag_size < 0 || tag_size > most) return srtp_err_status_bad_param;
    auto made = std::make_unique<KernelHmac>();
    made->head = {&kHmacType, made.get(), tag_size, key_size, 0};
    *out = &made.release()->head;
    return srtp_err_status_ok;
}

srtp_err_status_t dealloc_hmac(srtp_auth_t* hmac) {
    std::unique_ptr<KernelHmac> gone(&hmac_of(hmac->state));
    return srtp_err_status_ok;
}

srtp_err_status_t init_hmac(void* state, const uint8_t* key, int size) {
    hmac_of(state).key = HmacSha1({key, static_cast<size_t>(size)});
    return srtp_err_status_ok;
}

srtp_err_status_t start_hmac(void* state) {
    hmac_of(state).running.start(hmac_of(state).key);
    return srtp_err_status_ok;
}

srtp_err_status_t update_hmac(void* state, const uint8_t* bytes, int size) {
    hmac_of(state).running.add({bytes, static_cast<size_t>(size)});
    return srtp_err_status_ok;
}

srtp_err_status_t compute_hmac(void* state, const uint8_t* bytes, int size, int tag_size, uint8_t* tag) {
    if (tag_size < 0 || tag_size > static_cast<int>(kSha1Size)) return srtp_err_status_bad_param;
    KernelHmac& own = hmac_of(state);
    own.running.add({bytes, static_cast<size_t>(size)});
    std::ranges::copy_n(own.running.finish(own.key).begin(), tag_size, tag);
    return srtp_err_status_ok;
}

// ---- The self-tests' vectors: RFC 7714, 16.1; RFC 3711, B.2; RFC 2202, 3

constexpr uint8_t kGcmKey[kGcmKeySize] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
uint8_t gcm_iv[kGcmIvSize] = {0x51, 0x75, 0x3c, 0x65, 0x80, 0xc2, 0x72, 0x6f, 0x20, 0x71, 0x84, 0x14};
constexpr uint8_t kGcmHeader[] = {0x80, 0x40, 0xf1, 0x7b, 0x80, 0x41, 0xf8, 0xd3, 0x55, 0x01, 0xa0, 0xb2};
constexpr std::string_view kGcmText = "Gallia est omnis divisa in partes tres";
constexpr uint8_t kGcmSealed[] = {0xf2, 0x4d, 0xe3, 0xa3, 0xfb, 0x34, 0xde, 0x6c, 0xac, 0xba, 0x86, 0x1c, 0x9d, 0x7e,
                                  0x4b, 0xca, 0xbe, 0x63, 0x3b, 0xd5, 0x0d, 0x29, 0x4e, 0x6f, 0x42, 0xa5, 0xf4, 0x7a,
                                  0x51, 0xc7, 0xd1, 0x9b, 0x36, 0xde, 0x3a, 0xdf, 0x88, 0x33, 0x89, 0x9d, 0x7f, 0x27,
                                  0xbe, 0xb1, 0x6a, 0x91, 0x52, 0xcf, 0x76, 0x5e, 0xe4, 0x39, 0x0c, 0xce};

constexpr uint8_t kCtrKey[kCtrKeySize] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7,
                                          0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c, 0xf0, 0xf1, 0xf2, 0xf3,
                                          0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd};
uint8_t ctr_iv[kCtrIvSize] = {};
constexpr uint8_t kCtrText[32] = {};
constexpr uint8_t kCtrSealed[] = {0xe0, 0x3e, 0xad, 0x09, 0x35, 0xc9, 0x5e, 0x80, 0xe1, 0x66, 0xb1,
                                  0x6d, 0xd9, 0x2b, 0x4e, 0xb4, 0xd2, 0x35, 0x13, 0x16, 0x2b, 0x02,
                                  0xd0, 0xf7, 0x2a, 0x43, 0xa2, 0xfe, 0x4a, 0x5f, 0x97, 0xab};

constexpr uint8_t kHmacKey[kSha1Size] = {0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b,
                                         0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b};
constexpr std::string_view kHmacText = "Hi There";
constexpr uint8_t kHmacTag[] = {0xb6, 0x17, 0x31, 0x86, 0x55, 0x05, 0x72, 0x64, 0xe2, 0x8b,
                                0xc0, 0xb6, 0xfb, 0x37, 0x8c, 0x8e, 0xf1, 0x46, 0xbe, 0x00};

const uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }

const srtp_cipher_test_case_t kGcmTest = {kGcmKeySize,        kGcmKey,           gcm_iv,     kGcmText.size(),
                                          bytes_of(kGcmText), sizeof kGcmSealed, kGcmSealed, sizeof kGcmHeader,
                                          kGcmHeader,         kGcmTagSize,       nullptr};
const srtp_cipher_test_case_t kCtrTest = {
    kCtrKeySize, kCtrKey, ctr_iv, sizeof kCtrText, kCtrText, sizeof kCtrSealed, kCtrSealed, 0, nullptr, 0, nullptr};
const srtp_auth_test_case_t kHmacTest = {sizeof kHmacKey, kHmacKey, kHmacText.size(), bytes_of(kHmacText),
                                         sizeof kHmacTag, kHmacTag, nullptr};

const srtp_cipher_type_t kGcmType = {alloc_gcm,  dealloc_cipher, init_gcm,      set_gcm_aad, seal_gcm,        open_gcm,
                                     set_gcm_iv, get_gcm_tag,    "AES-128 GCM", &kGcmTest,   SRTP_AES_GCM_128};
const srtp_cipher_type_t kCtrType = {alloc_ctr,  dealloc_cipher,  init_ctr,
                                     nullptr,    crypt_ctr,       crypt_ctr,
                                     set_ctr_iv, nullptr,         "AES-128 counter mode of OpenSSL",
                                     &kCtrTest,  SRTP_AES_ICM_128};
const srtp_auth_type_t kHmacType = {alloc_hmac, dealloc_hmac,           init_hmac,  compute_hmac,  update_hmac,
                                    start_hmac, "HMAC-SHA1 of OpenSSL", &kHmacTest, SRTP_HMAC_SHA1};

}  // namespace

bool replace_ciphers() {
    return srtp_replace_cipher_type(&kGcmType, SRTP_AES_GCM_128) == srtp_err_status_ok &&
           srtp_replace_cipher_type(&kCtrType, SRTP_AES_ICM_128) == srtp_err_status_ok &&
           srtp_replace_auth_type(&kHmacType, SRTP_HMAC_SHA1) == srtp_err_status_ok;
}

bool start_crypto_kernel() {
    static const bool started = srtp_init() == srtp_err_status_ok && replace_ciphers();
    return started;
}

}  // namespace srtp
