#pragma once
// Who gets all tracks of a stream by RTMP and HTTP-FLV. Players that know one of a kind are confused by others, so all
// go only to who says that it takes them: in RTMP's connect (capsEx), or by the URL, since FFmpeg, which knows them,
// does not say so.

#include "protocol/http/url.h"

namespace convert {

// "?tracks=all" of a stream's URL.
inline bool asks_for_all_tracks(const http::Parameters& parameters) {
    return http::find_parameter(parameters, "tracks") == "all";
}

}  // namespace convert
