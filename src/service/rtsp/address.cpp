#include "service/rtsp/address.h"

#include "protocol/rtsp/text.h"

namespace service::rtsp {

using base::CloseReason;

TrackUrl split_track(std::string_view url) {
    constexpr std::string_view kControl = "trackID=";
    TrackUrl split;
    const size_t slash = url.rfind('/');
    if (slash != std::string_view::npos && url.substr(slash + 1).starts_with(kControl)) {
        split.track = ::rtsp::number<size_t>(url.substr(slash + 1 + kControl.size()));
        if (split.track) url = url.substr(0, slash);
    }
    while (url.ends_with('/')) url.remove_suffix(1);
    split.base = url;
    return split;
}

base::Result<::rtmp::StreamAddress> resolve(std::string_view base) {
    size_t host = std::string_view::npos;
    for (std::string_view scheme : {"rtsp://", "rtsps://", "rtspu://"})
        if (base.starts_with(scheme)) host = scheme.size();
    if (host == std::string_view::npos)
        return base::fail(CloseReason::kNotFound, "the URL does not begin with rtsp://");
    const std::string_view path = base.substr(0, base.find('?'));
    const size_t last = path.rfind('/');
    const size_t first = path.find('/', host);
    if (first == std::string_view::npos || last == first || last + 1 == path.size())
        return base::fail(CloseReason::kNotFound, "the URL needs an app and a stream: rtsp://HOST/APP/STREAM");
    return ::rtmp::resolve_stream(base.substr(0, last), {}, base.substr(last + 1));
}

}  // namespace service::rtsp
