#include "protocol/m3u8/cipher.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base/text.h"

namespace m3u8 {

namespace {
constexpr size_t kBlock = 16;
}

Cipher::Cipher() : context_(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free) { CHECK(context_ != nullptr); }

Cipher::~Cipher() = default;

base::Result<void> Cipher::begin(int fragments_per_key) {
    std::array<uint8_t, kBlock> iv{};
    bool good = RAND_bytes(iv.data(), kBlock) == 1;
    if (!key_ || used_ >= fragments_per_key) {
        auto key = std::make_shared<SegmentKey>();
        good = good && RAND_bytes(key->bytes.data(), kBlock) == 1;
        key_ = std::move(key);
        used_ = 0;
    }
    ++used_;
    iv_text_.clear();
    for (const uint8_t byte : iv) base::append_format(iv_text_, "{:02X}", byte);
    good = good && EVP_EncryptInit_ex(context_.get(), EVP_aes_128_cbc(), nullptr, key_->bytes.data(), iv.data()) == 1;
    if (!good) {
        key_.reset();
        return base::fail(base::Code::kOther, "OpenSSL has no random bytes or no AES");
    }
    return {};
}

std::span<const uint8_t> Cipher::encrypt(std::span<const uint8_t> plain) {
    out_.resize(plain.size() + kBlock);
    int size = 0;
    CHECK(EVP_EncryptUpdate(context_.get(), out_.data(), &size, plain.data(), static_cast<int>(plain.size())) == 1);
    return {out_.data(), static_cast<size_t>(size)};
}

std::span<const uint8_t> Cipher::finish() {
    out_.resize(kBlock);
    int size = 0;
    CHECK(EVP_EncryptFinal_ex(context_.get(), out_.data(), &size) == 1);
    return {out_.data(), static_cast<size_t>(size)};
}

}  // namespace m3u8
