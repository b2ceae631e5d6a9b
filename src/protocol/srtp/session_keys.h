#pragma once
// Derives the keys that protect packets from a master key and salt (RFC 3711, 4.3; the same for AES-GCM, RFC 7714, 11,
// with the salt of 96 bits padded to 112). Keys are derived once: the key derivation rate is 0, as in DTLS-SRTP.

#include <array>
#include <cstdint>
#include <span>

#include "protocol/srtp/hmac_sha1.h"
#include "protocol/srtp/keys.h"

namespace srtp {

// The keys of one direction for either RTP or RTCP. They are wiped when the object ends.
struct SessionKeys {
    SessionKeys() = default;
    SessionKeys(const SessionKeys&) = default;
    SessionKeys& operator=(const SessionKeys&) = default;
    ~SessionKeys();

    std::array<uint8_t, kMasterKeySize> key{};
    std::array<uint8_t, kMaxSaltSize> salt{};  // zero after the profile's salt_size
    HmacSha1 authentication;                   // for AES-CM only
};

enum class Traffic : uint8_t { kRtp, kRtcp };

SessionKeys derive_keys(Profile profile, const MasterKey& master, Traffic traffic);

// `size` bytes of the key derivation of RFC 3711, 4.3.3, for a label. Public for the test vectors of its appendix B.3.
void derive(const MasterKey& master, uint8_t label, std::span<uint8_t> out);

}  // namespace srtp
