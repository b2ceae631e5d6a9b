#pragma once
// Whether a decoder can begin with this packet, told by its payload alone: the first packets of a keyframe. Parameter
// sets count, since they are sent before one; so of the packets of a keyframe (one timestamp) several may be told of,
// and the first is where to begin. It keeps nothing between packets.

#include <cstdint>
#include <span>

#include "media/codec.h"

namespace rtp {

// payload: of RTP, without padding. Of audio codecs every packet.
bool is_keyframe(media::Codec codec, std::span<const uint8_t> payload);

}  // namespace rtp
