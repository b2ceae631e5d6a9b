#pragma once
// The format that sender and receiver share: how a packet's initialization vector is built from the salt, the SSRC and
// the index, for counter mode (RFC 3711, 4.1.1) and GCM (RFC 7714, 8.1 and 9.1), and the trailer of an SRTCP packet.

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"
#include "protocol/srtp/counter_mode.h"
#include "protocol/srtp/gcm.h"
#include "protocol/srtp/session_keys.h"

namespace srtp {

inline constexpr size_t kRtcpHeaderSize = 8;  // not encrypted; contains the first packet's SSRC
inline constexpr size_t kRtcpIndexSize = 4;   // E flag and index
inline constexpr size_t kCmTagSize = 10;
inline constexpr uint32_t kEncryptedFlag = 0x80000000;
inline constexpr uint64_t kMaxRtpIndex = (uint64_t{1} << 48) - 1;
inline constexpr uint32_t kMaxRtcpIndex = 0x7fffffff;

// index: 48 bits for RTP (rollover counter and sequence), 31 for RTCP.
inline void put_ctr_iv(uint8_t (&iv)[kCtrIvSize], const SessionKeys& keys, uint32_t ssrc, uint64_t index) {
    std::fill(std::begin(iv), std::end(iv), 0);
    base::put_u32(iv + 4, ssrc);
    base::put_u32(base::put_u16(iv + 8, static_cast<uint32_t>(index >> 32)), static_cast<uint32_t>(index));
    for (size_t i = 0; i < kMaxSaltSize; ++i) iv[i] ^= keys.salt[i];
}

inline void put_gcm_iv(uint8_t (&iv)[kGcmIvSize], const SessionKeys& keys, uint32_t ssrc, uint64_t index) {
    base::put_u16(iv, 0);
    base::put_u32(iv + 2, ssrc);
    base::put_u32(base::put_u16(iv + 6, static_cast<uint32_t>(index >> 32)), static_cast<uint32_t>(index));
    for (size_t i = 0; i < kGcmIvSize; ++i) iv[i] ^= keys.salt[i];
}

}  // namespace srtp
