#pragma once
// What a packet of a keyframe says of the picture (profile, level, size), for the API of a stream that is RTP only:
// H.264 (RFC 6184) and HEVC (RFC 7798) by an SPS, alone or aggregated; VP8 (RFC 7741) and VP9 (RFC 9628) by the frame's
// header behind the payload descriptor; AV1 by its sequence header. Pure; it puts nothing together of several packets.

#include <optional>
#include <span>

#include "media/track.h"

namespace service::rtc {

// Nothing where this packet does not say it.
std::optional<media::VideoInfo> picture_info(media::Codec codec, std::span<const uint8_t> payload);

}  // namespace service::rtc
