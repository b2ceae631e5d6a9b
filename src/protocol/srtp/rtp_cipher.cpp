#include "protocol/srtp/rtp_cipher.h"

#include <cstring>

#include "protocol/rtp/packet.h"
#include "protocol/srtp/packet_format.h"

namespace srtp {

size_t RtpCipher::protect(std::span<const uint8_t> header, std::span<const uint8_t> first,
                          std::span<const uint8_t> second, uint64_t index, uint8_t* out) const {
    const uint32_t ssrc = rtp::get_u32(&header[8]);
    if (out != header.data()) std::memcpy(out, header.data(), header.size());
    uint8_t* text = out + header.size();
    uint8_t* end = text + first.size() + second.size();
    if (profile_ == Profile::kAeadAes128Gcm) {
        uint8_t iv[kGcmIvSize];
        put_gcm_iv(iv, keys_, ssrc, index);
        Gcm::with(keys_.key).seal(iv, {out, header.size()}, first, second, text);
        return static_cast<size_t>(end - out) + kGcmTagSize;
    }
    uint8_t iv[kCtrIvSize], rollovers[4];
    put_ctr_iv(iv, keys_, ssrc, index);
    base::put_u32(rollovers, static_cast<uint32_t>(index >> 16));
    CounterMode::with(keys_.key).crypt(iv, first, second, text);
    auto tag = keys_.authentication.of({{out, end}, rollovers});
    std::memcpy(end, tag.data(), kCmTagSize);
    return static_cast<size_t>(end - out) + kCmTagSize;
}

}  // namespace srtp
