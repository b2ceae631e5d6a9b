#pragma once
// The payload types of a description: codec names of rtpmap, parameters of fmtp, and how well an offered format matches
// a wanted one (RFC 6184, 8.2.2: H.264's profile and packetization-mode; RFC 7798; VP9's and AV1's profiles; Opus and
// G.711 always match). Levels are ignored: both sides may use different ones, and the declared level is often wrong.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "media/codec.h"

namespace sdp {

// The codec of an rtpmap encoding name; nothing for unknown ones (RED, ULPFEC, telephone-event ...).
std::optional<media::Codec> codec_of(std::string_view encoding);
std::string_view encoding_of(media::Codec codec);  // empty: not available in RTP
uint32_t clock_rate_of(media::Codec codec);

// The value of a parameter in "a=1;b=2", without regard to the case of its name; empty: absent.
std::string_view parameter(std::string_view fmtp, std::string_view name);

enum class H264Profile : uint8_t {
    kConstrainedBaseline,
    kBaseline,
    kMain,
    kExtended,
    kHigh,
    kConstrainedHigh,
    kHigh10,
    kHigh422,
    kHigh444,
    kUnknown
};
// From the first four digits of a profile-level-id (RFC 6184, table 5). Without one it is baseline.
H264Profile h264_profile(std::string_view profile_level_id);
// "42e01f" from the three bytes that a sequence header and an SPS contain.
std::string profile_level_id(uint8_t profile_idc, uint8_t constraints, uint8_t level_idc);
int h264_packetization_mode(std::string_view fmtp);  // 0 when absent

// How well `offered` matches. 0: another codec. Higher is better; a decoder of a profile that includes the wanted one
// ranks above any other mismatch. An empty `wanted` is the codec's usual format: constrained baseline in mode 1,
// profile 0 or main.
int fitness(media::Codec codec, std::string_view wanted, std::string_view offered);

}  // namespace sdp
