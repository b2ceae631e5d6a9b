#include "protocol/srtp/sender.h"

#include <cstring>

#include "base/result.h"
#include "protocol/rtp/packet.h"
#include "protocol/srtp/packet_format.h"

namespace srtp {

Sender::Sender(Profile profile, const MasterKey& key)
    : profile_(profile),
      rtp_(derive_keys(profile, key, Traffic::kRtp)),
      rtcp_(derive_keys(profile, key, Traffic::kRtcp)) {}

namespace {

size_t protect(Profile profile, const SessionKeys& keys, std::span<const uint8_t> header,
               std::span<const uint8_t> first, std::span<const uint8_t> second, uint64_t index, uint8_t* out) {
    const uint32_t ssrc = rtp::get_u32(&header[8]);
    if (out != header.data()) std::memcpy(out, header.data(), header.size());
    uint8_t* text = out + header.size();
    uint8_t* end = text + first.size() + second.size();
    if (profile == Profile::kAeadAes128Gcm) {
        uint8_t iv[kGcmIvSize];
        put_gcm_iv(iv, keys, ssrc, index);
        Gcm::with(keys.key).seal(iv, {out, header.size()}, first, second, text);
        return static_cast<size_t>(end - out) + kGcmTagSize;
    }
    uint8_t iv[kCtrIvSize], rollovers[4];
    put_ctr_iv(iv, keys, ssrc, index);
    base::put_u32(rollovers, static_cast<uint32_t>(index >> 16));
    CounterMode::with(keys.key).crypt(iv, first, second, text);
    auto tag = keys.authentication.of({{out, end}, rollovers});
    std::memcpy(end, tag.data(), kCmTagSize);
    return static_cast<size_t>(end - out) + kCmTagSize;
}

}  // namespace

inline void Sender::check_rtp(std::span<const uint8_t> header, [[maybe_unused]] std::span<const uint8_t> first,
                              [[maybe_unused]] std::span<const uint8_t> second, uint64_t index) {
    CHECK(header.size() >= rtp::kFixedHeaderSize && index <= kMaxRtpIndex);
#ifdef SRS_SANITIZER
    CHECK(index_check_.permits(rtp::get_u32(&header[8]), index, header, first, second));
#endif
}

size_t Sender::protect_rtp(std::span<const uint8_t> header, std::span<const uint8_t> first,
                           std::span<const uint8_t> second, uint64_t index, uint8_t* out) {
    check_rtp(header, first, second, index);
    return protect(profile_, rtp_, header, first, second, index, out);
}

size_t Sender::defer_rtp(std::span<const uint8_t> header, std::span<const uint8_t> first,
                         std::span<const uint8_t> second, uint64_t index, DeferredRtp& out) {
    check_rtp(header, first, second, index);
    const size_t copied = header.size() + first.size();
    CHECK(copied <= DeferredRtp::kMaxCopied);
    out.keys_ = rtp_;
    out.profile_ = profile_;
    out.header_size_ = static_cast<uint8_t>(header.size());
    out.first_size_ = static_cast<uint8_t>(first.size());
    out.payload_size_ = static_cast<uint32_t>(second.size());
    out.index_ = index;
    out.payload_ = second.data();
    std::memcpy(out.copied_.data(), header.data(), header.size());
    if (!first.empty()) std::memcpy(out.copied_.data() + header.size(), first.data(), first.size());
    return copied + second.size() + rtp_overhead();
}

size_t DeferredRtp::protect(uint8_t* out) const {
    return srtp::protect(profile_, keys_, {copied_.data(), header_size_}, {copied_.data() + header_size_, first_size_},
                         {payload_, payload_size_}, index_, out);
}

size_t Sender::protect_rtcp(std::span<const uint8_t> compound, uint8_t* out) {
    CHECK(compound.size() >= kRtcpHeaderSize);
    if (rtcp_index_ > kMaxRtcpIndex) return 0;
    uint32_t index = rtcp_index_++, ssrc = rtp::get_u32(&compound[4]);
    std::memcpy(out, compound.data(), kRtcpHeaderSize);
    auto text = compound.subspan(kRtcpHeaderSize);
    uint8_t* end = out + compound.size();
    if (profile_ == Profile::kAeadAes128Gcm) {
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
