#pragma once
// The parameter sets that a sender may put into its fmtp, and there alone: sprop-parameter-sets of H.264 (RFC
// 6184, 8.1), sprop-vps, sprop-sps and sprop-pps of HEVC (RFC 7798, 7.1). Base64 as RFC 4648 has it, without spaces.
// Whether they are parameter sets is for who uses them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "media/codec.h"

namespace sdp {

// NAL units, in the order in which they stand there; empty where one is no base64, or where there are more than
// kMaxParameterSets.
inline constexpr size_t kMaxParameterSets = 16;
std::vector<std::vector<uint8_t>> parameter_sets(media::Codec codec, std::string_view fmtp);
// The parameters themselves, "sprop-parameter-sets=Z0IA,aM4=", for another description; empty where parameter_sets()
// is.
std::string sprop_of(media::Codec codec, std::string_view fmtp);
// An answer does not repeat them.
std::string without_sprop(std::string_view fmtp);

}  // namespace sdp
