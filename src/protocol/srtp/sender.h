#pragma once
// The sending side of SRTP and SRTCP: AES-CM-128-HMAC-SHA1-80 (RFC 3711) and AEAD_AES_128_GCM (RFC 7714). No MKI, no
// unencrypted parts. One Sender serves all SSRCs of a session: it keeps no rollover counters, the caller passes each
// packet's index. It encrypts from the plaintext buffer into the caller's arena, so that many viewers share one
// plaintext.

#include <cstdint>
#include <span>

#ifdef SRS_SANITIZER
#include "protocol/srtp/index_check.h"
#endif
#include "protocol/srtp/rtp_cipher.h"
#include "protocol/srtp/session_keys.h"

namespace srtp {

// The largest growth of a packet: the tag, and the index of SRTCP.
inline constexpr size_t kMaxOverhead = 20;

class Sender {
  public:
    Sender(Profile profile, const MasterKey& key);

    Profile profile() const { return rtp_.profile(); }
    size_t rtp_overhead() const { return rtp_.overhead(); }

    // header: fixed part, CSRCs and extension, as sent. The payload is `first` followed by `second` (RTX: the original
    // sequence number, then the payload). index: number of sequence wraps << 16 | sequence, which is the unwrapped
    // sequence number if the first one was below 2^15, as RFC 3711, 3.3.1 requires. out: room for header, payload and
    // rtp_overhead() bytes; it may already contain the header, but must not overlap the payload. Returns the size.
    // NEVER USE THE SAME INDEX AND SSRC FOR DIFFERENT BYTES: that would reveal keys. A packet that is retransmitted
    // without RTX must be bit-identical, including its header extensions. The sanitizer build aborts otherwise.
    size_t protect_rtp(std::span<const uint8_t> header, std::span<const uint8_t> first, std::span<const uint8_t> second,
                       uint64_t index, uint8_t* out);
    size_t protect_rtp(std::span<const uint8_t> header, std::span<const uint8_t> payload, uint64_t index,
                       uint8_t* out) {
        return protect_rtp(header, payload, {}, index, out);
    }

    // For another thread, which protects packets with a copy of it (deferred_rtp.h); check_rtp() is called for each of
    // them here.
    const RtpCipher& rtp_cipher() const { return rtp_; }
    void check_rtp(std::span<const uint8_t> header, std::span<const uint8_t> first, std::span<const uint8_t> second,
                   uint64_t index);

    // A compound packet of at least 8 bytes. out: room for its size plus kMaxOverhead; must not overlap the packet.
    // Returns the size; 0 when 2^31 packets have been sent, after which the session needs new keys.
    size_t protect_rtcp(std::span<const uint8_t> compound, uint8_t* out);

  private:
    RtpCipher rtp_;
    SessionKeys rtcp_;
    uint32_t rtcp_index_ = 0;
#ifdef SRS_SANITIZER
    IndexCheck index_check_;
#endif
};

}  // namespace srtp
