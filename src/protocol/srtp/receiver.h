#pragma once
// SRTP and SRTCP as it is received (RFC 3711, 3.3 and 3.4; RFC 7714): rollover counters and replay windows per SSRC,
// opened in place. Without MKI; SRTCP that is not encrypted is refused, as WebRTC has none (RFC 8827, 6.5).

#include <cstdint>
#include <expected>
#include <span>
#include <vector>

#include "protocol/srtp/cipher.h"
#include "protocol/srtp/replay_window.h"
#include "protocol/srtp/session_keys.h"

namespace srtp {

// Why a packet was not opened. No base::Error: under attack this is a hot path.
enum class Drop : uint8_t {
    kMalformed,     // too short, or no RTP or RTCP
    kReplayed,      // seen before
    kTooOld,        // behind the replay window
    kNotAuthentic,  // its tag is wrong
    kTooManySsrcs,  // authentic, and of one SSRC more than we follow
    kNotEncrypted,  // SRTCP without its E flag
};
inline constexpr size_t kDropReasons = 6;
const char* drop_name(Drop drop);

struct OpenedRtp {
    size_t size;     // of the plaintext packet, from the same place on
    uint64_t index;  // sequence with its rollovers: of this SSRC, an order without wraps
};

class Receiver {
  public:
    // A packet that comes again without RTX is older than the newest by a round trip: at 2,000 packets a second, half a
    // second.
    static constexpr size_t kRtpWindow = 1024;
    static constexpr size_t kRtcpWindow = 128;
    // Simulcast of three layers with RTX, audio, and what was replaced over time. There is no forgetting: a forgotten
    // SSRC's packets could be played again.
    static constexpr size_t kMaxSsrcs = 32;

    Receiver(Profile profile, const MasterKey& key);

    // In place. What was dropped is worth nothing afterwards.
    std::expected<OpenedRtp, Drop> unprotect_rtp(std::span<uint8_t> packet);
    // The compound's size.
    std::expected<size_t, Drop> unprotect_rtcp(std::span<uint8_t> packet);

    uint64_t dropped(Drop reason) const { return drops_[static_cast<size_t>(reason)]; }

  private:
    template <size_t kWindow>
    struct Source {
        uint32_t ssrc;
        ReplayWindow<kWindow> window;
    };
    bool open_rtp(std::span<uint8_t> packet, size_t header_size, uint64_t index);
    bool open_rtcp(std::span<uint8_t> packet, uint32_t trailer);
    std::unexpected<Drop> drop(Drop reason) {
        ++drops_[static_cast<size_t>(reason)];
        return std::unexpected(reason);
    }

    Profile profile_;
    SessionKeys rtp_, rtcp_;
    Cipher rtp_cipher_;  // made with the first packet
    std::vector<Source<kRtpWindow>> rtp_sources_;
    std::vector<Source<kRtcpWindow>> rtcp_sources_;
    uint32_t drops_[kDropReasons] = {};
};

}  // namespace srtp
