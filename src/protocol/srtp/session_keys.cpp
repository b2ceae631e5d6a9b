#include "protocol/srtp/session_keys.h"

#include <openssl/crypto.h>

#include "base/result.h"
#include "protocol/srtp/counter_mode.h"

namespace srtp {

SessionKeys::~SessionKeys() { OPENSSL_cleanse(this, sizeof *this); }

void derive(const MasterKey& master, uint8_t label, std::span<uint8_t> out) {
    uint8_t iv[kCtrIvSize] = {};
    std::copy(master.salt.begin(), master.salt.end(), iv);
    iv[7] ^= label;  // the label precedes an index of 48 bits that is 0
    constexpr uint8_t kZeros[32] = {};
    CHECK(out.size() <= sizeof kZeros);
    CounterMode::with(master.key).crypt(iv, std::span(kZeros).first(out.size()), {}, out.data());
}

SessionKeys derive_keys(Profile profile, const MasterKey& master, Traffic traffic) {
    uint8_t first_label = traffic == Traffic::kRtp ? 0 : 3;
    MasterKey padded = master;
    size_t salt_size = profile_info(profile).salt_size;
    std::fill(padded.salt.begin() + static_cast<long>(salt_size), padded.salt.end(), 0);
    SessionKeys keys;
    derive(padded, first_label, keys.key);
    derive(padded, first_label + 2, std::span(keys.salt).first(salt_size));
    if (profile == Profile::kAes128CmSha1_80) {
        uint8_t authentication[kSha1Size];
        derive(padded, first_label + 1, authentication);
        keys.authentication = HmacSha1(authentication);
    }
    return keys;
}

}  // namespace srtp
