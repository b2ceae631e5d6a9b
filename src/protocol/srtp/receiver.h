#pragma once
// The receiving side of SRTP and SRTCP (RFC 3711, 3.3 and 3.4; RFC 7714), decrypted in place by libsrtp2: rollover
// counters, replay windows, key derivation and the order of the checks are the library's. Added here: a limit on the
// number of SSRCs, and the refusal of unencrypted SRTCP, which the library accepts and WebRTC does not have (RFC 8827,
// 6.5). No MKI.

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <vector>

#include "protocol/srtp/keys.h"

struct srtp_ctx_t_;

namespace srtp {

// Why a packet was dropped. Not a base::Error: under attack this is a hot path.
enum class Drop : uint8_t {
    kMalformed,     // too short, or neither RTP nor RTCP
    kReplayed,      // seen before
    kTooOld,        // older than the replay window
    kNotAuthentic,  // wrong authentication tag
    kTooManySsrcs,  // more than kMaxSsrcs SSRCs
    kNotEncrypted,  // SRTCP without its E flag
    kFailed,        // the library failed: no memory
};
inline constexpr size_t kDropReasons = 7;
const char* drop_name(Drop drop);

class Receiver {
  public:
    // A packet retransmitted without RTX is older than the newest one by a round trip: at 2,000 packets a second the
    // window covers half a second. The window of SRTCP is the library's: 128.
    static constexpr size_t kRtpWindow = 1024;
    // Enough for simulcast of three layers with RTX, audio, and SSRCs replaced over time. None is ever removed: packets
    // of a removed SSRC could be replayed.
    static constexpr size_t kMaxSsrcs = 32;

    // The library's session, about 3 kB, is created with the first packet.
    Receiver(Profile profile, const MasterKey& key) : profile_(profile), key_(key) {}

    // Decrypts in place. Returns the size of the plaintext packet, which begins where the packet does. The bytes of a
    // dropped packet must not be used.
    std::expected<size_t, Drop> unprotect_rtp(std::span<uint8_t> packet);
    // Returns the size of the compound packet.
    std::expected<size_t, Drop> unprotect_rtcp(std::span<uint8_t> packet);

    uint64_t dropped(Drop reason) const { return drops_[static_cast<size_t>(reason)]; }

  private:
    struct Free {
        void operator()(srtp_ctx_t_* session) const;
    };
    bool make_session();
    template <class Unprotect>
    std::expected<size_t, Drop> open(std::span<uint8_t> packet, uint32_t ssrc, Unprotect unprotect);
    std::unexpected<Drop> drop(Drop reason) {
        ++drops_[static_cast<size_t>(reason)];
        return std::unexpected(reason);
    }

    Profile profile_;
    MasterKey key_;  // zeros once the session has been created
    std::unique_ptr<srtp_ctx_t_, Free> session_;
    std::vector<uint32_t> ssrcs_;  // those that the session tracks, by SRTP or SRTCP
    uint32_t drops_[kDropReasons] = {};
};

}  // namespace srtp
