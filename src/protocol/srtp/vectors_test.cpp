// The specifications' test vectors: RFC 3711 B.2 and B.3, RFC 7714 16.1 and 17.1, RFC 2202 for HMAC-SHA1.
#include <gtest/gtest.h>

#include <string>

#include "protocol/srtp/packet_format.h"
#include "protocol/srtp/srtp_testing.h"

namespace srtp {
namespace {

Key key_of(const Bytes& bytes) { return std::span(bytes).first<kMasterKeySize>(); }

// RFC 3711, B.2: the keystream for SSRC 0 and index 0 at its beginning and around a block counter of 0xff00.
TEST(Vectors, CounterModeKeystream) {
    Bytes key = hex("2b7e151628aed2a6abf7158809cf4f3c"), salt = hex("f0f1f2f3f4f5f6f7f8f9fafbfcfd");
    SessionKeys keys;
    std::copy(salt.begin(), salt.end(), keys.salt.begin());
    uint8_t iv[kCtrIvSize];
    put_ctr_iv(iv, keys, 0, 0);
    CounterMode cipher(key_of(key));
    Bytes stream(0xff02 * 16), zeros(stream.size());
    cipher.crypt(iv, zeros, {}, stream.data());
    EXPECT_EQ(Bytes(stream.begin(), stream.begin() + 48), hex("e03ead0935c95e80e166b16dd92b4eb4"
                                                              "d23513162b02d0f72a43a2fe4a5f97ab"
                                                              "41e95b3bb0a2e8dd477901e4fca894c0"));
    EXPECT_EQ(Bytes(stream.end() - 48, stream.end()), hex("ec8cdf7398607cb0f2d21675ea9ea1e4"
                                                          "362b7c3c6773516318a077d7fc5073ae"
                                                          "6a2cc3787889374fbeb4c81b17ba6c44"));
}

TEST(Vectors, KeyDerivation) {
    Bytes key(16), salt(14), authentication(20);
    derive(example_key(), 0, key);
    EXPECT_EQ(key, hex("c61e7a93744f39ee10734afe3ff7a087"));
    derive(example_key(), 2, salt);
    EXPECT_EQ(salt, hex("30cbbc08863d8c85d49db34a9ae1"));
    derive(example_key(), 1, authentication);
    EXPECT_EQ(authentication, hex("cebe321f6ff7716b6fd4ab49af256a156d38baa4"));
}

SessionKeys quid_pro_quo() {
    SessionKeys keys;
    Bytes salt = hex("517569642070726f2071756f");
    std::copy(salt.begin(), salt.end(), keys.salt.begin());
    return keys;
}

template <class G>
class GcmVectors : public testing::Test {};
#if defined(__x86_64__)
using Gcms = testing::Types<GcmOpenssl, GcmIpsecMb>;
#else
using Gcms = testing::Types<GcmOpenssl>;
#endif
TYPED_TEST_SUITE(GcmVectors, Gcms);

TYPED_TEST(GcmVectors, Rtp) {
    Bytes key = hex("000102030405060708090a0b0c0d0e0f"), header = hex("8040f17b8041f8d35501a0b2");
    std::string text = "Gallia est omnis divisa in partes tres";
    Bytes plain(text.begin(), text.end());
    uint8_t iv[kGcmIvSize];
    put_gcm_iv(iv, quid_pro_quo(), 0x5501a0b2, 0xf17b);
    EXPECT_EQ(Bytes(std::begin(iv), std::end(iv)), hex("51753c6580c2726f20718414"));
    TypeParam gcm(key_of(key));
    Bytes sealed(plain.size() + kGcmTagSize);
    gcm.seal(iv, header, {}, plain, sealed.data());
    EXPECT_EQ(sealed, hex("f24de3a3fb34de6cacba861c9d7e4bcabe633bd50d294e6f42a5f47a51c7d19b36de3adf8833"
                          "899d7f27beb16a9152cf765ee4390cce"));
    const std::span<uint8_t> bytes(sealed);
    ASSERT_TRUE(gcm.open(iv, header, bytes.first(plain.size()), bytes.subspan(plain.size())));
    sealed.resize(plain.size());
    EXPECT_EQ(sealed, plain);
}

TYPED_TEST(GcmVectors, Rtcp) {
    Bytes key = hex("000102030405060708090a0b0c0d0e0f");
    Bytes plain =
        hex("81c8000d4d6172734e5450314e545032525450200000042a0000e9304c756e61"
            "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef");
    uint8_t iv[kGcmIvSize];
    put_gcm_iv(iv, quid_pro_quo(), 0x4d617273, 0x5d4);
    EXPECT_EQ(Bytes(std::begin(iv), std::end(iv)), hex("517524055203726f207170bb"));
    TypeParam gcm(key_of(key));
    Bytes sealed(plain.size() - 8 + kGcmTagSize);
    std::span<const uint8_t> bytes(plain);
    gcm.seal(iv, hex("81c8000d4d617273800005d4"), {}, bytes.subspan(8), sealed.data());
    EXPECT_EQ(sealed, hex("63e94885dcdab67ca727d7662f6b7e997ff5c0f76c06f32dc676a5f1730d6fda4ce09b46"
                          "86303ded0bb9275bc84aa45896cf4d2fc5abf87245d9eade"));
}

// Texts have all sizes, in one part and in two, with whole and short tags.
TYPED_TEST(GcmVectors, IsTheSameAsThatOfOpenssl) {
    const Bytes key = hex("2b7e151628aed2a6abf7158809cf4f3c");
    TypeParam gcm(key_of(key));
    GcmOpenssl reference(key_of(key));
    Bytes text(1500), aad(40);
    for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<uint8_t>(i * 7 + i / 256);
    for (size_t i = 0; i < aad.size(); ++i) aad[i] = static_cast<uint8_t>(i * 11);
    for (size_t size = 0; size <= text.size(); ++size) {
        const auto plain = std::span<const uint8_t>(text).first(size);
        const auto header = std::span<const uint8_t>(aad).first(12 + size % 29);
        uint8_t iv[kGcmIvSize] = {static_cast<uint8_t>(size), static_cast<uint8_t>(size >> 8), 3};
        Bytes expected(size + kGcmTagSize), whole(expected), parts(expected);
        reference.seal(iv, header, {}, plain, expected.data());
        gcm.seal(iv, header, {}, plain, whole.data());
        gcm.seal(iv, header, plain.first(size % 19 * size / 18), plain.subspan(size % 19 * size / 18), parts.data());
        ASSERT_EQ(whole, expected) << size;
        ASSERT_EQ(parts, expected) << size;
        const std::span<uint8_t> opened = std::span(whole).first(size);
        const auto tag = std::span<const uint8_t>(expected).subspan(size);
        ASSERT_TRUE(gcm.open(iv, header, opened, tag)) << size;
        ASSERT_TRUE(std::ranges::equal(opened, plain)) << size;
        std::copy_n(expected.begin(), size, whole.begin());
        ASSERT_TRUE(gcm.open(iv, header, opened, tag.first(8))) << size;
    }
}

// One wrong bit anywhere: in the text, the tag, the header, the IV or the key.
TYPED_TEST(GcmVectors, RefusesWhatWasChanged) {
    const Bytes key = hex("2b7e151628aed2a6abf7158809cf4f3c");
    const Bytes text(45, 'x'), header(12, 'h');
    uint8_t iv[kGcmIvSize] = {1, 2, 3};
    TypeParam gcm(key_of(key));
    Bytes sealed(text.size() + kGcmTagSize);
    gcm.seal(iv, header, {}, text, sealed.data());
    const auto opens = [&](TypeParam& with, Bytes packet, const Bytes& aad) {
        const std::span<uint8_t> bytes(packet);
        return with.open(iv, aad, bytes.first(text.size()), bytes.subspan(text.size()));
    };
    ASSERT_TRUE(opens(gcm, sealed, header));
    for (size_t bit = 0; bit < sealed.size() * 8; ++bit) {
        Bytes changed = sealed;
        changed[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        EXPECT_FALSE(opens(gcm, changed, header)) << bit;
    }
    for (size_t bit = 0; bit < header.size() * 8; ++bit) {
        Bytes changed = header;
        changed[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        EXPECT_FALSE(opens(gcm, sealed, changed)) << bit;
    }
    EXPECT_FALSE(opens(gcm, sealed, Bytes(13, 'h')));
    iv[11] = 1;
    EXPECT_FALSE(opens(gcm, sealed, header));
    iv[11] = 0;
    TypeParam other(key_of(hex("2b7e151628aed2a6abf7158809cf4f3d")));
    EXPECT_FALSE(opens(other, sealed, header));
    EXPECT_TRUE(opens(gcm, sealed, header));
}

// RFC 2202, 3.
TEST(Vectors, HmacSha1) {
    struct {
        Bytes key, text;
        const char* expected;
    } rows[] = {
        {Bytes(20, 0x0b), hex("4869205468657265"), "b617318655057264e28bc0b6fb378c8ef146be00"},
        {Bytes(20, 0xaa), Bytes(50, 0xdd), "125d7342b9ac11cd91a39af48aa17b4f63f175d3"},
        {hex("0102030405060708090a0b0c0d0e0f10111213141516171819"), Bytes(50, 0xcd),
         "4c9007f4026250c6bc8414f9bf50c86c2d7235da"},
    };
    for (const auto& row : rows) {
        HmacSha1 hmac(row.key);
        for (size_t cut = 0; cut <= row.text.size(); ++cut) {
            std::span<const uint8_t> text(row.text);
            auto digest = hmac.of({text.first(cut), text.subspan(cut)});
            EXPECT_EQ(Bytes(digest.begin(), digest.end()), hex(row.expected)) << cut;
        }
    }
}

}  // namespace
}  // namespace srtp
