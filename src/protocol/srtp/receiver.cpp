#include "protocol/srtp/receiver.h"

#include <openssl/crypto.h>

#include "protocol/rtp/packet.h"
#include "protocol/srtp/packet_format.h"

namespace srtp {

namespace {

template <class Sources>
auto find(Sources& sources, uint32_t ssrc) {
    auto at = sources.begin();
    while (at != sources.end() && at->ssrc != ssrc) ++at;
    return at;
}

// The index nearest to the newest one (RFC 3711, 3.3.1); nothing below 0.
int64_t estimate(uint64_t newest, uint16_t sequence) {
    auto step = static_cast<int16_t>(static_cast<uint16_t>(sequence - static_cast<uint16_t>(newest)));
    return static_cast<int64_t>(newest) + step;
}

}  // namespace

const char* drop_name(Drop drop) {
    switch (drop) {
        case Drop::kMalformed:
            return "malformed";
        case Drop::kReplayed:
            return "replayed";
        case Drop::kTooOld:
            return "too old";
        case Drop::kNotAuthentic:
            return "not authentic";
        case Drop::kTooManySsrcs:
            return "too many SSRCs";
        case Drop::kNotEncrypted:
            return "not encrypted";
    }
    return "unknown";
}

Receiver::Receiver(Profile profile, const MasterKey& key)
    : profile_(profile),
      rtp_(derive_keys(profile, key, Traffic::kRtp)),
      rtcp_(derive_keys(profile, key, Traffic::kRtcp)) {}

std::expected<OpenedRtp, Drop> Receiver::unprotect_rtp(std::span<uint8_t> packet) {
    size_t tag_size = profile_info(profile_).tag_size;
    size_t header_size = rtp::header_size(packet);
    if (header_size == 0 || packet.size() < header_size + tag_size) return drop(Drop::kMalformed);
    uint16_t sequence = rtp::get_u16(&packet[2]);
    uint32_t ssrc = rtp::get_u32(&packet[8]);
    auto source = find(rtp_sources_, ssrc);
    uint64_t index = sequence;
    if (source != rtp_sources_.end()) {
        int64_t estimated = estimate(source->window.newest(), sequence);
        if (estimated < 0 || source->window.is_too_old(static_cast<uint64_t>(estimated))) return drop(Drop::kTooOld);
        index = static_cast<uint64_t>(estimated);
        if (index > kMaxRtpIndex) return drop(Drop::kMalformed);
        if (source->window.seen(index)) return drop(Drop::kReplayed);
    }
    if (!open_rtp(packet, header_size, index)) return drop(Drop::kNotAuthentic);
    if (source == rtp_sources_.end()) {
        if (rtp_sources_.size() >= kMaxSsrcs) return drop(Drop::kTooManySsrcs);
        source = rtp_sources_.insert(source, {ssrc, {}});
    }
    source->window.add(index);
    return OpenedRtp{packet.size() - tag_size, index};
}

bool Receiver::open_rtp(std::span<uint8_t> packet, size_t header_size, uint64_t index) {
    if (!rtp_cipher_) rtp_cipher_ = Cipher(profile_, rtp_.key, Cipher::Use::kOpen);
    uint32_t ssrc = rtp::get_u32(&packet[8]);
    auto header = packet.first(header_size), sealed = packet.subspan(header_size);
    if (profile_ == Profile::kAeadAes128Gcm) {
        uint8_t iv[kGcmIvSize];
        put_gcm_iv(iv, rtp_, ssrc, index);
        return rtp_cipher_.open(iv, header, {}, sealed);
    }
    uint8_t iv[kCtrIvSize], rollovers[4];
    base::put_u32(rollovers, static_cast<uint32_t>(index >> 16));
    auto authentic = packet.first(packet.size() - kCmTagSize);
    auto tag = rtp_.authentication.of({authentic, rollovers});
    if (CRYPTO_memcmp(tag.data(), &packet[authentic.size()], kCmTagSize) != 0) return false;
    put_ctr_iv(iv, rtp_, ssrc, index);
    auto text = sealed.first(sealed.size() - kCmTagSize);
    rtp_cipher_.crypt(iv, text, {}, text.data());
    return true;
}

std::expected<size_t, Drop> Receiver::unprotect_rtcp(std::span<uint8_t> packet) {
    size_t overhead = profile_info(profile_).tag_size + kRtcpIndexSize;
    if (packet.size() < kRtcpHeaderSize + overhead || packet[0] >> 6 != 2) return drop(Drop::kMalformed);
    // GCM has the index behind the tag, AES-CM before it.
    size_t at = packet.size() - (profile_ == Profile::kAeadAes128Gcm ? kRtcpIndexSize : overhead);
    uint32_t trailer = rtp::get_u32(&packet[at]);
    if (!(trailer & kEncryptedFlag)) return drop(Drop::kNotEncrypted);
    uint32_t index = trailer & kMaxRtcpIndex, ssrc = rtp::get_u32(&packet[4]);
    auto source = find(rtcp_sources_, ssrc);
    if (source != rtcp_sources_.end()) {
        if (source->window.is_too_old(index)) return drop(Drop::kTooOld);
        if (source->window.seen(index)) return drop(Drop::kReplayed);
    }
    if (!open_rtcp(packet, trailer)) return drop(Drop::kNotAuthentic);
    if (source == rtcp_sources_.end()) {
        if (rtcp_sources_.size() >= kMaxSsrcs) return drop(Drop::kTooManySsrcs);
        source = rtcp_sources_.insert(source, {ssrc, {}});
    }
    source->window.add(index);
    return packet.size() - overhead;
}

bool Receiver::open_rtcp(std::span<uint8_t> packet, uint32_t trailer) {
    uint32_t ssrc = rtp::get_u32(&packet[4]), index = trailer & kMaxRtcpIndex;
    auto header = packet.first(kRtcpHeaderSize);
    if (profile_ == Profile::kAeadAes128Gcm) {
        uint8_t iv[kGcmIvSize];
        put_gcm_iv(iv, rtcp_, ssrc, index);
        auto sealed = packet.subspan(kRtcpHeaderSize, packet.size() - kRtcpHeaderSize - kRtcpIndexSize);
        Cipher& cipher = Cipher::shared(profile_, rtcp_.key, Cipher::Use::kOpen);
        return cipher.open(iv, header, packet.last(kRtcpIndexSize), sealed);
    }
    auto authentic = packet.first(packet.size() - kCmTagSize);
    auto tag = rtcp_.authentication.of({authentic});
    if (CRYPTO_memcmp(tag.data(), &packet[authentic.size()], kCmTagSize) != 0) return false;
    uint8_t iv[kCtrIvSize];
    put_ctr_iv(iv, rtcp_, ssrc, index);
    auto text = packet.subspan(kRtcpHeaderSize, authentic.size() - kRtcpIndexSize - kRtcpHeaderSize);
    Cipher::shared(profile_, rtcp_.key, Cipher::Use::kOpen).crypt(iv, text, {}, text.data());
    return true;
}

}  // namespace srtp
