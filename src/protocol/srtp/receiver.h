#pragma once
// SRTP and SRTCP as it is received (RFC 3711, 3.3 and 3.4; RFC 7714), opened in place by libsrtp2: rollover counters,
// replay windows, key derivation and the order of the checks are the library's. Here are a bound of its SSRCs, and what
// it would let pass: without MKI; SRTCP that is not encrypted is refused, as WebRTC has none (RFC 8827, 6.5).

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <vector>

#include "protocol/srtp/keys.h"

struct srtp_ctx_t_;

namespace srtp {

// Why a packet was not opened. No base::Error: under attack this is a hot path.
enum class Drop : uint8_t {
    kMalformed,     // too short, or no RTP or RTCP
    kReplayed,      // seen before
    kTooOld,        // behind the replay window
    kNotAuthentic,  // its tag is wrong
    kTooManySsrcs,  // of one SSRC more than we follow
    kNotEncrypted,  // SRTCP without its E flag
    kFailed,        // the library could not: no memory
};
inline constexpr size_t kDropReasons = 7;
const char* drop_name(Drop drop);

class Receiver {
  public:
    // A packet that comes again without RTX is older than the newest by a round trip: at 2,000 packets a second, half a
    // second. The window of SRTCP is the library's: 128.
    static constexpr size_t kRtpWindow = 1024;
    // Simulcast of three layers with RTX, audio, and what was replaced over time. There is no forgetting: a forgotten
    // SSRC's packets could be played again.
    static constexpr size_t kMaxSsrcs = 32;

    // The library's session, some 3 kB, is made with the first packet.
    Receiver(Profile profile, const MasterKey& key) : profile_(profile), key_(key) {}

    // In place. What was dropped is worth nothing afterwards. The size of the plaintext packet, which begins where the
    // packet does.
    std::expected<size_t, Drop> unprotect_rtp(std::span<uint8_t> packet);
    // The compound's size.
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
    MasterKey key_;  // zeros once the session has it
    std::unique_ptr<srtp_ctx_t_, Free> session_;
    std::vector<uint32_t> ssrcs_;  // those that the session follows, by SRTP or SRTCP
    uint32_t drops_[kDropReasons] = {};
};

}  // namespace srtp
