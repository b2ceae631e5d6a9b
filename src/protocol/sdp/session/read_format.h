#pragma once
// One payload type of an m= line: codec, clock rate, and the fmtp of each payload format (RFC 6184, 7798, 3640, 6416,
// 7587, 2250, 3551).

#include <string>
#include <vector>

#include "base/result.h"
#include "protocol/sdp/description.h"
#include "protocol/sdp/session/track.h"

namespace sdp {

// kind, payload_type, format, fmtp and parameter_sets of the track. The error says why the type cannot be used. Appends
// at most two defects that do not prevent its use.
base::Result<SessionTrack> read_format(const MediaSection& media, uint8_t payload_type,
                                       std::vector<std::string>& defects);

}  // namespace sdp
