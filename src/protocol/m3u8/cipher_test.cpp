#include "protocol/m3u8/cipher.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>

namespace m3u8 {
namespace {

std::span<const uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string encrypted(Cipher& cipher, std::initializer_list<std::string_view> pieces) {
    std::string out;
    auto add = [&](std::span<const uint8_t> bytes) { out.append(bytes.begin(), bytes.end()); };
    for (std::string_view piece : pieces) add(cipher.encrypt(bytes_of(piece)));
    add(cipher.finish());
    return out;
}

std::string decrypted(const Cipher& cipher, std::string_view text) {
    uint8_t iv[16];
    for (size_t i = 0; i < 16; ++i) iv[i] = static_cast<uint8_t>(std::stoi(cipher.iv().substr(i * 2, 2), nullptr, 16));
    std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    EVP_DecryptInit_ex(context.get(), EVP_aes_128_cbc(), nullptr, cipher.key()->bytes.data(), iv);
    std::string out(text.size() + 16, '\0');
    auto* to = reinterpret_cast<uint8_t*>(out.data());
    int first = 0, last = 0;
    EVP_DecryptUpdate(context.get(), to, &first, bytes_of(text).data(), static_cast<int>(text.size()));
    if (EVP_DecryptFinal_ex(context.get(), to + first, &last) != 1) return "bad padding";
    return out.substr(0, static_cast<size_t>(first + last));
}

TEST(Cipher, WhatItEncryptsCanBeReadWithItsKeyAndIv) {
    Cipher cipher;
    for (std::string_view text : {"", "0123456789abcde", "0123456789abcdef", "0123456789abcdef0"}) {
        ASSERT_TRUE(cipher.begin(5));
        std::string secret = encrypted(cipher, {text.substr(0, text.size() / 3), text.substr(text.size() / 3)});
        EXPECT_EQ(secret.size(), text.size() / 16 * 16 + 16);
        EXPECT_EQ(decrypted(cipher, secret), text);
    }
}

TEST(Cipher, AKeyIsForSoManySegmentsAndAnIvForOne) {
    Cipher cipher;
    std::vector<std::shared_ptr<const SegmentKey>> keys;
    std::vector<std::string> ivs;
    for (int i = 0; i < 6; ++i) {
        ASSERT_TRUE(cipher.begin(3));
        keys.push_back(cipher.key());
        ivs.push_back(cipher.iv());
        EXPECT_EQ(cipher.iv().size(), 32u);
        EXPECT_EQ(cipher.iv().find_first_not_of("0123456789ABCDEF"), std::string::npos) << cipher.iv();
        encrypted(cipher, {"x"});
    }
    EXPECT_TRUE(keys[0] == keys[2] && keys[3] == keys[5] && keys[2] != keys[3]);
    EXPECT_NE(keys[0]->bytes, keys[3]->bytes);
    std::sort(ivs.begin(), ivs.end());
    EXPECT_EQ(std::unique(ivs.begin(), ivs.end()), ivs.end());
}

}  // namespace
}  // namespace m3u8
