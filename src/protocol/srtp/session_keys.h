#pragma once
// From a master key and salt to the keys that packets are protected with (RFC 3711, 4.3; the same for AES-GCM, RFC
// 7714, 11, with the salt of 96 bits padded to 112). Keys are derived once: the key derivation rate is 0, as DTLS-SRTP
// has it.

#include <array>
#include <cstdint>
#include <span>

#include "protocol/srtp/hmac_sha1.h"
#include "protocol/srtp/keys.h"

namespace srtp {

// Keys of one direction and one of RTP and RTCP.
struct SessionKeys {
    std::array<uint8_t, kMasterKeySize> key{};
    std::array<uint8_t, kMaxSaltSize> salt{};  // behind the profile's salt_size: zeros
    HmacSha1 authentication;                   // of AES-CM alone
};

enum class Traffic : uint8_t { kRtp, kRtcp };

SessionKeys derive_keys(Profile profile, const MasterKey& master, Traffic traffic);

// `size` bytes of the key derivation of RFC 3711, 4.3.3, for a label. For the vectors of its appendix B.3.
void derive(const MasterKey& master, uint8_t label, std::span<uint8_t> out);

}  // namespace srtp
