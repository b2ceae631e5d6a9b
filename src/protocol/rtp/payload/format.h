#pragma once
// PayloadFormat: the parameters of a track's RTP payloads that are negotiated outside of RTP (fmtp of a session
// description), and that packetizers and depacketizers need.

#include <cstdint>

#include "base/slice.h"
#include "media/codec.h"

namespace rtp {

struct PayloadFormat {
    media::Codec codec = media::Codec::kNone;
    uint32_t clock_rate = 90'000;  // Hz
    int channels = 0;              // audio; 0: not known
    // H.264, packetization-mode 0: each NAL unit is a packet, and one that does not fit is an error (RFC 6184, 6.2).
    bool single_nalus = false;

    // ---- AAC: MPEG4-GENERIC (RFC 3640) with the bits of the AU header's fields, or MP4A-LATM (RFC 6416)
    bool latm = false;
    bool latm_config_in_band = false;  // cpresent=1: each packet may have a StreamMuxConfig
    uint8_t size_length = 13;          // the defaults are those of AAC-hbr
    uint8_t index_length = 3;
    uint8_t index_delta_length = 3;
    uint32_t constant_size = 0;  // bytes of each AU where size_length is 0
    base::Slice aac_config{};    // MPEG4-GENERIC: AudioSpecificConfig; empty: not known
    base::Slice latm_config{};   // LATM: StreamMuxConfig; empty: in the packets
};

}  // namespace rtp
