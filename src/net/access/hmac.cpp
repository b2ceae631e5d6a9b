#include "net/access/hmac.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/result.h"

namespace net {

std::string hmac_sha256_hex(std::string_view key, std::string_view text) {
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, text.size(), digest, &size) != nullptr);
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
    return hex;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace net
