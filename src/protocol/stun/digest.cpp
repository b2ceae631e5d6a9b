// SHA-1 uses the old low-level calls: a keyed EVP context costs three allocations and 1 us for each message, and a
// flood of requests with wrong integrity should cost as little as possible.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <algorithm>

#include "protocol/stun/message.h"

namespace stun {
namespace {

constexpr size_t kBlock = 64;

constexpr std::array<uint32_t, 256> kCrcTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; ++bit) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
        table[i] = c;
    }
    return table;
}();

}  // namespace

std::array<uint8_t, 20> hmac_sha1(std::string_view key, std::span<const uint8_t> first,
                                  std::span<const uint8_t> second) {
    std::array<uint8_t, kBlock> pad{};
    if (key.size() > kBlock) {
        SHA1(reinterpret_cast<const uint8_t*>(key.data()), key.size(), pad.data());
    } else {
        std::copy(key.begin(), key.end(), pad.begin());
    }
    std::array<uint8_t, 20> digest;
    for (auto& byte : pad) byte ^= 0x36;
    SHA_CTX context;
    SHA1_Init(&context);
    SHA1_Update(&context, pad.data(), pad.size());
    SHA1_Update(&context, first.data(), first.size());
    SHA1_Update(&context, second.data(), second.size());
    SHA1_Final(digest.data(), &context);
    for (auto& byte : pad) byte ^= 0x36 ^ 0x5c;
    SHA1_Init(&context);
    SHA1_Update(&context, pad.data(), pad.size());
    SHA1_Update(&context, digest.data(), digest.size());
    SHA1_Final(digest.data(), &context);
    return digest;
}

uint32_t fingerprint_of(std::span<const uint8_t> bytes) {
    uint32_t crc = 0xffffffffu;
    for (uint8_t byte : bytes) crc = kCrcTable[(crc ^ byte) & 0xff] ^ (crc >> 8);
    return ~crc ^ 0x5354554eu;
}

}  // namespace stun
