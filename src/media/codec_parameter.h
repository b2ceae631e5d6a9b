#pragma once
// The codecs parameter of RFC 6381 of a track: "avc1.64001f", "mp4a.40.2". Players decide by it whether they can play a
// stream before they fetch it. Pure.

#include <span>
#include <string>

#include "media/track_set.h"

namespace media {

// Empty: the codec has none, or the track's configuration has not arrived or is malformed.
std::string codec_parameter(const Track& track);
// Of all these tracks, each codec once; empty: one of them has none that is known. Null: a track that is not known.
std::string codecs_parameter(std::span<const Track* const> tracks);

}  // namespace media
