#include "protocol/srt/key_material.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/hex_testing.h"
#include "protocol/srt/cipher.h"
#include "protocol/srt/sessions_testing.h"

namespace srt {
namespace {

using Bytes = std::vector<uint8_t>;

// The contents of an extension of a recorded handshake.
Bytes extension_of(std::string_view datagram, ExtensionType type) {
    const Bytes bytes = base::hex(datagram);
    const auto packet = parse_handshake(bytes);
    if (!packet) return {};
    ExtensionReader extensions(packet->extensions);
    while (const auto extension = extensions.next()) {
        if (extension->type == type) return Bytes(extension->contents.begin(), extension->contents.end());
    }
    return {};
}

Bytes counting_bytes(uint8_t start, size_t size) {
    Bytes bytes(size);
    std::iota(bytes.begin(), bytes.end(), start);
    return bytes;
}

// RFC 3394, 4.1, 4.2 (key data of 128 bits under 128, 192, 256 bits), 4.6.
TEST(SrtKeys, WrapsAsTheVectorsOfRfc3394) {
    struct Case {
        const char* kek;
        const char* key;
        const char* wrapped;
    };
    const char* kKek = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    const char* kKey = "00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f";
    for (const auto& [size, wrapped] :
         {std::pair{size_t{16}, "1fa68b0a8112b447 aef34bd8fb5a7b82 9d3e862371d2cfe5"},
          std::pair{size_t{24}, "031d33264e15d332 68f24ec260743edc e1c6c7ddee725a93 6ba814915c6762d2"},
          std::pair{size_t{32},
                    "28c9f404c4b810f4 cbccb35cfb87f826 3f5786e2d80ed326 cbc7f0e71a99f43b fb988b9b7a02dd21"}}) {
        const Bytes all_kek = base::hex(kKek), all_key = base::hex(kKey);
        const AesKey kek = make_key(std::span(all_kek).first(size));
        SessionKeys keys;
        keys.odd = make_key(std::span(all_key).first(size));
        std::array<uint8_t, kMaxKeyMessage> out;
        const size_t written = write_key_message(out, keys, {}, kek);
        ASSERT_EQ(written, 32 + 8 + size);
        EXPECT_EQ(Bytes(out.begin() + 32, out.begin() + static_cast<ptrdiff_t>(written)), base::hex(wrapped)) << size;
        const auto message = parse_key_message(std::span(out).first(written));
        ASSERT_TRUE(message);
        EXPECT_EQ(message->parity, KeyParity::kOdd);
        EXPECT_EQ(unwrap_keys(*message, kek), keys);
    }
}

// What OpenSSL's command line derives:
// openssl kdf -keylen 16 -kdfopt digest:SHA1 -kdfopt "pass:correct horse" -kdfopt hexsalt:08090a0b0c0d0e0f ...
TEST(SrtKeys, DerivesTheKekFromTheLastBytesOfTheSalt) {
    Salt salt{0xff, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    EXPECT_EQ(derive_kek(kPassphrase, salt, 16), make_key(base::hex("43fcfd0604bae887d5880a354dafc66c")));
    salt[0] = 0;
    EXPECT_EQ(derive_kek(kPassphrase, salt, 24),
              make_key(base::hex("43fcfd0604bae887d5880a354dafc66c5768e19769b5bba7")));
    EXPECT_EQ(derive_kek(kPassphrase, salt, 32),
              make_key(base::hex("43fcfd0604bae887d5880a354dafc66c5768e19769b5bba7c0316899ab55b1c4")));
}

struct KeySession {
    std::string_view conclusion;
    size_t key_size;
    std::span<const RecordedData> data;
};
const KeySession kKeySessions[] = {{kLibsrtSession.conclusion, 16, kLibsrtData},
                                   {kSession24.conclusion, 24, kData24},
                                   {kSession32.conclusion, 32, kData32}};

TEST(SrtKeys, OpensTheSessionsOfLibsrt) {
    for (const auto& session : kKeySessions) {
        const Bytes contents = extension_of(session.conclusion, ExtensionType::kKmRequest);
        const auto message = parse_key_message(contents);
        ASSERT_TRUE(message) << session.key_size;
        EXPECT_EQ(message->key_size, session.key_size);
        EXPECT_EQ(message->parity, KeyParity::kEven);
        const auto kek = derive_kek(kPassphrase, message->salt, message->key_size);
        const auto keys = unwrap_keys(*message, kek);
        ASSERT_TRUE(keys) << session.key_size;
        Cipher cipher(keys->even, message->salt);
        for (const auto& data : session.data) {
            Bytes packet = base::hex(data.datagram);
            const auto header = parse_data(packet);
            ASSERT_TRUE(header);
            EXPECT_EQ(header->key, KeyParity::kEven);
            const auto payload = std::span(packet).subspan(kHeaderSize);
            Bytes elsewhere(payload.size());
            cipher.crypt(header->sequence, payload, elsewhere.data());
            EXPECT_EQ(elsewhere, counting_bytes(data.pattern_start, payload.size())) << session.key_size;
            const Bytes sent(payload.begin(), payload.end());
            cipher.crypt(header->sequence, payload, payload.data());
            EXPECT_EQ(Bytes(payload.begin(), payload.end()), elsewhere) << "in place";
            cipher.crypt(header->sequence, elsewhere, elsewhere.data());
            EXPECT_EQ(elsewhere, sent) << "and back";
        }
        std::array<uint8_t, kMaxKeyMessage> out;
        const size_t size = write_key_message(out, *keys, message->salt, kek);
        EXPECT_EQ(Bytes(out.begin(), out.begin() + static_cast<ptrdiff_t>(size)), contents);
    }
}

TEST(SrtKeys, AnotherPassphraseDoesNotUnwrap) {
    for (const auto& session : kKeySessions) {
        const Bytes contents = extension_of(session.conclusion, ExtensionType::kKmRequest);
        const auto message = parse_key_message(contents);
        ASSERT_TRUE(message);
        EXPECT_FALSE(unwrap_keys(*message, derive_kek("correct horsf", message->salt, message->key_size)));
    }
}

TEST(SrtKeys, AChangedBitDoesNotUnwrap) {
    Bytes contents = extension_of(kLibsrtSession.conclusion, ExtensionType::kKmRequest);
    const AesKey kek = derive_kek(kPassphrase, parse_key_message(contents)->salt, 16);
    for (size_t i = 32; i < contents.size(); ++i) {
        contents[i] ^= 0x10;
        EXPECT_FALSE(unwrap_keys(*parse_key_message(contents), kek)) << i;
        contents[i] ^= 0x10;
    }
    EXPECT_TRUE(unwrap_keys(*parse_key_message(contents), kek));
}

TEST(SrtKeys, MessagesThatAreRefused) {
    const Bytes good = extension_of(kLibsrtSession.conclusion, ExtensionType::kKmRequest);
    ASSERT_TRUE(parse_key_message(good));
    for (size_t size = 0; size < good.size(); ++size) {
        const auto cut = parse_key_message(std::span(good).first(size));
        ASSERT_FALSE(cut) << size;
        EXPECT_EQ(cut.error(), Refusal::kRogue) << size;
    }
    struct Case {
        const char* name;
        size_t offset;
        uint8_t value;
        Refusal refusal;
    };
    for (const auto& c :
         {Case{"another version", 0, 0x22, Refusal::kRogue}, Case{"a media message", 0, 0x11, Refusal::kRogue},
          Case{"another signature", 2, 0x28, Refusal::kRogue}, Case{"no key", 3, 0, Refusal::kRogue},
          Case{"two keys, but one is there", 3, 3, Refusal::kRogue}, Case{"no cipher", 8, 0, Refusal::kCrypto},
          Case{"AES-ECB", 8, 1, Refusal::kCrypto}, Case{"AES-GCM", 8, 4, Refusal::kCrypto},
          Case{"authentication", 9, 1, Refusal::kCrypto}, Case{"MPEG-TS", 10, 1, Refusal::kRogue},
          Case{"a short salt", 14, 2, Refusal::kRogue}, Case{"the largest salt", 14, 255, Refusal::kRogue},
          Case{"no length", 15, 0, Refusal::kRogue}, Case{"20 bytes", 15, 5, Refusal::kRogue},
          Case{"24 bytes", 15, 6, Refusal::kRogue}, Case{"the largest key", 15, 255, Refusal::kRogue}}) {
        Bytes changed = good;
        changed[c.offset] = c.value;
        const auto parsed = parse_key_message(changed);
        ASSERT_FALSE(parsed) << c.name;
        EXPECT_EQ(parsed.error(), c.refusal) << c.name;
    }
    Bytes longer = good;
    longer.resize(good.size() + 4);
    EXPECT_FALSE(parse_key_message(longer));
}

TEST(SrtKeys, FailuresInTheOrderOfLibsrtAndOfTheDraft) {
    EXPECT_EQ(parse_key_failure(extension_of(kLaxListener.answer, ExtensionType::kKmResponse)), KeyFailure::kBadSecret);
    EXPECT_EQ(parse_key_failure(base::hex("00000003")), KeyFailure::kNoSecret);
    EXPECT_EQ(parse_key_failure(base::hex("00000000")), KeyFailure::kUnsecured);
    EXPECT_EQ(parse_key_failure(base::hex("00000099")), KeyFailure::kBadSecret);
    EXPECT_FALSE(parse_key_failure(base::hex("0000000300")));
    EXPECT_FALSE(parse_key_failure({}));
    for (const auto failure :
         {KeyFailure::kUnsecured, KeyFailure::kNoSecret, KeyFailure::kBadSecret, KeyFailure::kBadCipher}) {
        EXPECT_EQ(parse_key_failure(write_key_failure(failure)), failure);
    }
}

}  // namespace
}  // namespace srt
