#include "protocol/srtp/sender.h"

#include <cstring>

#include "base/result.h"
#include "protocol/rtp/packet.h"
#include "protocol/srtp/packet_format.h"

namespace srtp {

Sender::Sender(Profile profile, const MasterKey& key)
    : rtp_(profile, key), rtcp_(derive_keys(profile, key, Traffic::kRtcp)) {}

void Sender::check_rtp(std::span<const uint8_t> header, [[maybe_unused]] std::span<const uint8_t> first,
                       [[maybe_unused]] std::span<const uint8_t> second, uint64_t index) {
    CHECK(header.size() >= rtp::kFixedHeaderSize && index <= kMaxRtpIndex);
#ifdef SRS_SANITIZER
    CHECK(index_check_.permits(rtp::get_u32(&header[8]), index, header, first, second));
#endif
}

size_t Sender::protect_rtp(std::span<const uint8_t> header, std::span<const uint8_t> first,
                           std::span<const uint8_t> second, uint64_t index, uint8_t* out) {
    check_rtp(header, first, second, index);
    return rtp_.protect(header, first, second, index, out);
}

size_t Sender::protect_rtcp(std::span<const uint8_t> compound, uint8_t* out) {
    CHECK(compound.size() >= kRtcpHeaderSize);
    if (rtcp_index_ > kMaxRtcpIndex) return 0;
    uint32_t index = rtcp_index_++, ssrc = rtp::get_u32(&compound[4]);
    std::memcpy(out, compound.data(), kRtcpHeaderSize);
    auto text = compound.subspan(kRtcpHeaderSize);
    uint8_t* end = out + compound.size();
    if (profile() == Profile::kAeadAes128Gcm) {
        uint8_t iv[kGcmIvSize];
        put_gcm_iv(iv, rtcp_, ssrc, index);
        uint8_t aad[kRtcpHeaderSize + kRtcpIndexSize];
        std::memcpy(aad, out, kRtcpHeaderSize);
        base::put_u32(aad + kRtcpHeaderSize, index | kEncryptedFlag);
        Gcm::with(rtcp_.key).seal(iv, aad, {}, text, out + kRtcpHeaderSize);
        base::put_u32(end + kGcmTagSize, index | kEncryptedFlag);
        return compound.size() + kGcmTagSize + kRtcpIndexSize;
    }
    uint8_t iv[kCtrIvSize];
    put_ctr_iv(iv, rtcp_, ssrc, index);
    CounterMode::with(rtcp_.key).crypt(iv, text, {}, out + kRtcpHeaderSize);
    end = base::put_u32(end, index | kEncryptedFlag);
    auto tag = rtcp_.authentication.of({{out, end}});
    std::memcpy(end, tag.data(), kCmTagSize);
    return compound.size() + kRtcpIndexSize + kCmTagSize;
}

}  // namespace srtp
