#pragma once
// RtpCipher: the keys that protect a session's RTP packets, and how. It does not change: other threads may use it, or a
// copy of it. The keys are wiped when it ends.

#include <cstdint>
#include <span>

#include "protocol/srtp/keys.h"
#include "protocol/srtp/session_keys.h"

namespace srtp {

class RtpCipher {
  public:
    RtpCipher(Profile profile, const MasterKey& key)
        : profile_(profile), keys_(derive_keys(profile, key, Traffic::kRtp)) {}

    Profile profile() const { return profile_; }
    size_t overhead() const { return profile_info(profile_).tag_size; }

    // As Sender::protect_rtp(), which checks the arguments.
    size_t protect(std::span<const uint8_t> header, std::span<const uint8_t> first, std::span<const uint8_t> second,
                   uint64_t index, uint8_t* out) const;

  private:
    Profile profile_;
    SessionKeys keys_;
};

}  // namespace srtp
