#pragma once
// The keying material that a DTLS handshake gives to SRTP: the protection profile and both directions' master keys and
// salts (RFC 5764, 4.1.2 and 4.2; the AEAD profile is RFC 7714, 14.2). Key derivation is in srtp/session_keys.h.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace srtp {

// In order of preference.
enum class Profile : uint8_t { kAeadAes128Gcm, kAes128CmSha1_80 };

inline constexpr size_t kMasterKeySize = 16;
inline constexpr size_t kMaxSaltSize = 14;

// A key of AES-128.
using Key = std::span<const uint8_t, kMasterKeySize>;

struct ProfileInfo {
    uint16_t dtls_id;            // in the use_srtp extension
    size_t salt_size;            // of the master salt
    size_t tag_size;             // bytes added to a packet; RTCP packets get four more
    std::string_view dtls_name;  // OpenSSL's name
};

constexpr ProfileInfo profile_info(Profile profile) {
    return profile == Profile::kAeadAes128Gcm ? ProfileInfo{0x0007, 12, 16, "SRTP_AEAD_AES_128_GCM"}
                                              : ProfileInfo{0x0001, 14, 10, "SRTP_AES128_CM_SHA1_80"};
}

constexpr std::optional<Profile> profile_of_dtls(uint16_t dtls_id) {
    for (Profile profile : {Profile::kAeadAes128Gcm, Profile::kAes128CmSha1_80}) {
        if (profile_info(profile).dtls_id == dtls_id) return profile;
    }
    return std::nullopt;
}

struct MasterKey {
    std::array<uint8_t, kMasterKeySize> key{};
    std::array<uint8_t, kMaxSaltSize> salt{};  // the first profile_info().salt_size bytes; the rest is zero
};

// local protects what we send, remote opens what the peer sends.
struct KeyPair {
    Profile profile = Profile::kAeadAes128Gcm;
    MasterKey local, remote;
};

// The number of bytes to export from DTLS, label "EXTRACTOR-dtls_srtp", no context.
constexpr size_t key_block_size(Profile profile) { return 2 * (kMasterKeySize + profile_info(profile).salt_size); }

// The exported bytes are client key, server key, client salt, server salt. Nothing when their number is not
// key_block_size().
inline std::optional<KeyPair> split_key_block(Profile profile, std::span<const uint8_t> block, bool we_are_client) {
    if (block.size() != key_block_size(profile)) return std::nullopt;
    size_t salt_size = profile_info(profile).salt_size;
    MasterKey client, server;
    auto take = [&block](auto& to, size_t n) {
        std::copy_n(block.begin(), n, to.begin());
        block = block.subspan(n);
    };
    take(client.key, kMasterKeySize);
    take(server.key, kMasterKeySize);
    take(client.salt, salt_size);
    take(server.salt, salt_size);
    return we_are_client ? KeyPair{profile, client, server} : KeyPair{profile, server, client};
}

}  // namespace srtp
