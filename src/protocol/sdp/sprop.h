#pragma once
// The parameter sets that a sender may put into its fmtp, and possibly nowhere else: sprop-parameter-sets of H.264 (RFC
// 6184, 8.1), sprop-vps, sprop-sps and sprop-pps of HEVC (RFC 7798, 7.1). Base64 of RFC 4648, without spaces. The
// caller checks whether they are valid parameter sets.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "media/codec.h"

namespace sdp {

// Nothing: it is not base64, or empty. The padding may be missing, because some senders omit it.
std::optional<std::vector<uint8_t>> from_base64(std::string_view text);
std::string to_base64(std::span<const uint8_t> bytes);

// The NAL units in their order; empty where one is not valid base64, or where there are more than kMaxParameterSets.
inline constexpr size_t kMaxParameterSets = 16;
std::vector<std::vector<uint8_t>> parameter_sets(media::Codec codec, std::string_view fmtp);
// The parameters as text, "sprop-parameter-sets=Z0IA,aM4=", for another description; empty where parameter_sets() is.
std::string sprop_of(media::Codec codec, std::string_view fmtp);
// The fmtp without these parameters: an answer does not repeat them.
std::string without_sprop(std::string_view fmtp);

}  // namespace sdp
