#pragma once
// What the payload types of a description are: codec names of rtpmap, parameters of fmtp, and how well an offered
// format fits what somebody wants (RFC 6184, 8.2.2: H.264's profile and packetization-mode; RFC 7798; VP9's and AV1's
// profiles; Opus and G.711 fit always). Levels do not count: both sides may differ in them, and few say the truth.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "media/codec.h"

namespace sdp {

// Encoding name, as rtpmap has it; nothing for those we do not know (RED, ULPFEC, telephone-event ...).
std::optional<media::Codec> codec_of(std::string_view encoding);
std::string_view encoding_of(media::Codec codec);  // empty: it has none
uint32_t clock_rate_of(media::Codec codec);

// "a=1;b=2": the value of a parameter, whatever the case of its name; empty: it is not there.
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
// Of the first four digits of a profile-level-id (RFC 6184, table 5). Without one it is baseline.
H264Profile h264_profile(std::string_view profile_level_id);
// "42e01f" of the three bytes that stand in a sequence header and in the SPS.
std::string profile_level_id(uint8_t profile_idc, uint8_t constraints, uint8_t level_idc);
int h264_packetization_mode(std::string_view fmtp);  // 0 when it is not said

// 0: another codec. Higher is better; a decoder of a profile that includes the wanted one is better than any other. An
// empty `wanted` is the codec's usual: constrained baseline in mode 1, profile 0 or main.
int fitness(media::Codec codec, std::string_view wanted, std::string_view offered);

}  // namespace sdp
