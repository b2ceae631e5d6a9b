#include "protocol/srt/key_material.h"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>

#include "base/bytes.h"
#include "base/result.h"

namespace srt {

using base::get_u16;

namespace {

constexpr int kRounds = 2048;
constexpr size_t kDerivedSalt = 8;         // the last bytes of the salt are those that PBKDF2 uses
constexpr size_t kMessageHeader = 16;      // before the salt
constexpr size_t kIntegrityCheck = 8;      // what wrapping adds
constexpr uint8_t kVersionAndType = 0x12;  // version 1, key material
constexpr uint16_t kSignature = 0x2029;    // the letters HAI of Haivision
constexpr uint8_t kAesCtr = 2, kNoAuthentication = 0, kSrtStream = 2;

struct FreeContext {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

const EVP_CIPHER* wrap_cipher(size_t key_size) {
    return key_size == 16 ? EVP_aes_128_wrap() : key_size == 24 ? EVP_aes_192_wrap() : EVP_aes_256_wrap();
}

// Wraps or unwraps; false when the integrity check fails. out has room for in and a check.
bool run_wrap(const AesKey& kek, std::span<const uint8_t> in, uint8_t* out, bool wraps) {
    const std::unique_ptr<EVP_CIPHER_CTX, FreeContext> context(EVP_CIPHER_CTX_new());
    CHECK(context != nullptr);
    EVP_CIPHER_CTX_set_flags(context.get(), EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
    CHECK(EVP_CipherInit_ex(context.get(), wrap_cipher(kek.size), nullptr, kek.bytes.data(), nullptr, wraps ? 1 : 0) ==
          1);
    int size = 0;
    return EVP_CipherUpdate(context.get(), out, &size, in.data(), static_cast<int>(in.size())) == 1 && size > 0;
}

}  // namespace

AesKey make_key(std::span<const uint8_t> bytes) {
    AesKey key;
    CHECK(bytes.size() <= key.bytes.size());
    std::ranges::copy(bytes, key.bytes.begin());
    key.size = static_cast<uint8_t>(bytes.size());
    return key;
}

std::expected<KeyMessage, Refusal> parse_key_message(std::span<const uint8_t> bytes) {
    base::ByteReader in(bytes);
    const uint8_t version = in.u8();
    const uint16_t signature = in.u16();
    KeyMessage message{.parity = static_cast<KeyParity>(in.u8() & 3)};
    in.skip(4);  // which KEK: libsrt has only one
    const uint8_t cipher = in.u8();
    const uint8_t authentication = in.u8();
    const uint8_t encapsulation = in.u8();
    in.skip(3);
    const size_t salt_size = size_t{in.u8()} * 4;
    const size_t key_size = size_t{in.u8()} * 4;
    if (!in.ok() || version != kVersionAndType || signature != kSignature || message.parity == KeyParity::kNone) {
        return std::unexpected(Refusal::kRogue);
    }
    if (cipher != kAesCtr || authentication != kNoAuthentication) return std::unexpected(Refusal::kCrypto);
    if (encapsulation != kSrtStream || salt_size != message.salt.size() || !is_key_size(key_size)) {
        return std::unexpected(Refusal::kRogue);
    }
    std::ranges::copy(in.bytes(salt_size), message.salt.begin());
    message.key_size = static_cast<uint8_t>(key_size);
    message.wrapped = in.rest();
    const size_t keys = message.parity == KeyParity::kBoth ? 2 : 1;
    if (!in.ok() || in.left() != kIntegrityCheck + keys * key_size) return std::unexpected(Refusal::kRogue);
    return message;
}

AesKey derive_kek(std::string_view passphrase, const Salt& salt, size_t key_size) {
    CHECK(is_key_size(key_size));
    AesKey kek;
    kek.size = static_cast<uint8_t>(key_size);
    CHECK(PKCS5_PBKDF2_HMAC_SHA1(passphrase.data(), static_cast<int>(passphrase.size()),
                                 &salt[salt.size() - kDerivedSalt], kDerivedSalt, kRounds, static_cast<int>(key_size),
                                 kek.bytes.data()) == 1);
    return kek;
}

std::optional<SessionKeys> unwrap_keys(const KeyMessage& message, const AesKey& kek) {
    CHECK(kek.size == message.key_size && message.wrapped.size() <= kMaxWrapped);
    std::array<uint8_t, kMaxWrapped> plain;
    if (!run_wrap(kek, message.wrapped, plain.data(), false)) return std::nullopt;
    const auto first = std::span(plain).first(message.key_size);
    SessionKeys keys;
    if (message.parity == KeyParity::kBoth) {
        keys.even = make_key(first);
        keys.odd = make_key(std::span(plain).subspan(message.key_size, message.key_size));
    } else {
        keys.of(message.parity) = make_key(first);
    }
    return keys;
}

size_t write_key_message(std::span<uint8_t> out, const SessionKeys& keys, const Salt& salt, const AesKey& kek) {
    std::array<uint8_t, 2 * kMaxKey> plain;
    size_t plain_size = 0;
    for (const AesKey* key : {&keys.even, &keys.odd}) {
        if (!*key) continue;
        CHECK(key->size == kek.size);
        std::ranges::copy(key->view(), plain.begin() + static_cast<ptrdiff_t>(plain_size));
        plain_size += key->size;
    }
    CHECK(plain_size > 0);
    const size_t size = kMessageHeader + salt.size() + kIntegrityCheck + plain_size;
    if (out.size() < size) return 0;
    const auto key_words = static_cast<uint8_t>(kek.size / 4);
    const std::array<uint8_t, kMessageHeader> header{kVersionAndType,
                                                     kSignature >> 8,
                                                     kSignature & 0xff,
                                                     static_cast<uint8_t>(keys.parity()),
                                                     0,
                                                     0,
                                                     0,
                                                     0,
                                                     kAesCtr,
                                                     kNoAuthentication,
                                                     kSrtStream,
                                                     0,
                                                     0,
                                                     0,
                                                     static_cast<uint8_t>(salt.size() / 4),
                                                     key_words};
    std::ranges::copy(header, out.begin());
    std::ranges::copy(salt, out.begin() + kMessageHeader);
    CHECK(run_wrap(kek, std::span(plain).first(plain_size), &out[kMessageHeader + salt.size()], true));
    return size;
}

std::optional<KeyFailure> parse_key_failure(std::span<const uint8_t> contents) {
    if (contents.size() != kKeyFailureSize) return std::nullopt;
    // libsrt sends the word in the order of its host; the draft has no other order than big endian.
    const uint8_t code = contents[0] != 0 ? contents[0] : contents[3];
    const auto failure = static_cast<KeyFailure>(code);
    switch (failure) {
        case KeyFailure::kUnsecured:
        case KeyFailure::kNoSecret:
        case KeyFailure::kBadSecret:
        case KeyFailure::kBadCipher:
            return failure;
    }
    return KeyFailure::kBadSecret;
}

std::array<uint8_t, kKeyFailureSize> write_key_failure(KeyFailure failure) {
    return {static_cast<uint8_t>(failure), 0, 0, 0};
}

}  // namespace srt
