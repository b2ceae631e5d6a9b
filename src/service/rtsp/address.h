#pragma once
// The stream and the track that an RTSP URL names: rtsp://HOST[:PORT]/APP/STREAM[?k=v], with "/trackID=N" behind it,
// before or behind the query, for a track. The app may have several levels. The vhost is the host, unless the query
// names another one (protocol/rtmp/url.h). Nothing is percent-decoded.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/rtmp/url.h"

namespace service::rtsp {

struct TrackUrl {
    std::string base;             // without the track and without a slash at its end
    std::optional<size_t> track;  // nothing: the URL names the whole stream
};
TrackUrl split_track(std::string_view url);

// base: of split_track(). kNotFound: it is no RTSP URL, or has no app or no stream.
base::Result<::rtmp::StreamAddress> resolve(std::string_view base);

}  // namespace service::rtsp
