#pragma once
// The rule for sending all tracks of a stream by RTMP and HTTP-FLV. Players that know one track of a kind are confused
// by others, so all are sent only to players that declare support: in RTMP's connect (capsEx), or by the URL, since
// FFmpeg, which supports them, does not declare it.

#include "protocol/http/url.h"

namespace convert {

// "?tracks=all" in a stream's URL.
inline bool asks_for_all_tracks(const http::Parameters& parameters) {
    return http::find_parameter(parameters, "tracks") == "all";
}

}  // namespace convert
