#pragma once
// Whether a decoder can start with this packet, judged by its payload alone: the first packets of a keyframe. Parameter
// sets count, since they are sent before a keyframe. So several packets of a keyframe (one timestamp) may be reported,
// and the first of them is where to start. No state is kept between packets.

#include <cstdint>
#include <span>

#include "media/codec.h"

namespace rtp {

// payload: of RTP, without padding. True for every packet of audio codecs.
bool is_keyframe(media::Codec codec, std::span<const uint8_t> payload);

}  // namespace rtp
