#pragma once
// SRTP and SRTCP as it is sent: AES-CM-128-HMAC-SHA1-80 (RFC 3711) and AEAD_AES_128_GCM (RFC 7714). Without MKI,
// without unencrypted parts. One Sender serves all SSRCs of a session: it keeps no rollover counters, the caller names
// each packet's index. Encrypts from the plaintext's place into the caller's arena, so that many viewers share one
// plaintext.

#include <cstdint>
#include <span>

#include "protocol/srtp/cipher.h"
#include "protocol/srtp/session_keys.h"

namespace srtp {

// What a packet may grow by at most: tag, and index of SRTCP.
inline constexpr size_t kMaxOverhead = 20;

class Sender {
  public:
    Sender(Profile profile, const MasterKey& key);

    Profile profile() const { return profile_; }
    size_t rtp_overhead() const { return profile_info(profile_).tag_size; }
    size_t rtcp_overhead() const { return rtp_overhead() + 4; }

    // header: fixed part, CSRCs and extension, as it goes out. The payload is `first` and then `second` (RTX: the
    // original sequence number, then the payload). index: how often the sequence has wrapped << 16 | sequence, that is
    // the unwrapped sequence if the first one was below 2^15, as RFC 3711, 3.3.1 wants it. out: header, payload and
    // rtp_overhead() bytes; it may be where the header is already, but no part of the payload. Returns the size. THE
    // SAME INDEX AND SSRC MUST NEVER COME AGAIN WITH OTHER BYTES: it would give keys away. A packet that is sent again
    // without RTX has to be the same to the bit, header extensions too.
    size_t protect_rtp(std::span<const uint8_t> header, std::span<const uint8_t> first, std::span<const uint8_t> second,
                       uint64_t index, uint8_t* out);
    size_t protect_rtp(std::span<const uint8_t> header, std::span<const uint8_t> payload, uint64_t index,
                       uint8_t* out) {
        return protect_rtp(header, payload, {}, index, out);
    }

    // A compound packet of at least 8 bytes. out: its size and rtcp_overhead(); no part of it. Returns the size; 0 when
    // 2^31 have been sent, after which the session has to get new keys.
    size_t protect_rtcp(std::span<const uint8_t> compound, uint8_t* out);

  private:
    Profile profile_;
    uint32_t rtcp_index_ = 0;
    SessionKeys rtp_, rtcp_;
    Cipher rtp_cipher_;  // made with the first packet; RTCP is rare and shares the process's
};

}  // namespace srtp
