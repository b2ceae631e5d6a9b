#pragma once
// Reads the video parameters (profile, level, size) from a packet of a keyframe, for the API of a stream that exists
// only as RTP. H.264 (RFC 6184) and HEVC (RFC 7798): from an SPS, alone or aggregated; VP8 (RFC 7741) and VP9 (RFC
// 9628): from the frame header behind the payload descriptor; AV1: from its sequence header. Pure. It does not
// reassemble data that spans packets.

#include <optional>
#include <span>

#include "media/track.h"

namespace service::rtc {

// Nothing if this packet does not contain the parameters.
std::optional<media::VideoInfo> video_info(media::Codec codec, std::span<const uint8_t> payload);

}  // namespace service::rtc
