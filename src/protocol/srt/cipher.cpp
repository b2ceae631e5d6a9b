#include "protocol/srt/cipher.h"

#include "base/bytes.h"

namespace srt {

namespace {

// The block counter, which begins at 0, is the last two bytes of the block, the sequence number the four before them.
constexpr size_t kSequenceOffset = 10;

}  // namespace

Cipher::Cipher(const AesKey& key, const Salt& salt) : context_(srtp::evp_aes_ctr(key.size), key.view()), salt_(salt) {
    salt_[14] = salt_[15] = 0;
}

void Cipher::crypt(uint32_t sequence, std::span<const uint8_t> in, uint8_t* out) {
    Salt block = salt_;
    uint8_t* at = &block[kSequenceOffset];
    base::put_u32(at, base::get_u32(at) ^ sequence);
    context_.begin(block, true);
    context_.update(in, out);
}

}  // namespace srt
