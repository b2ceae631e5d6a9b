#include "service/rtsp/address.h"

#include <algorithm>

#include "protocol/http/headers.h"
#include "protocol/rtsp/text.h"

namespace service::rtsp {

using base::CloseReason;

namespace {

std::string_view without_slashes(std::string_view url) {
    while (url.ends_with('/')) url.remove_suffix(1);
    return url;
}

// The track that the last segment names, which is removed.
std::optional<size_t> take_track(std::string_view& url) {
    constexpr std::string_view kControl = "trackID=";
    const std::string_view whole = without_slashes(url);
    const size_t slash = whole.rfind('/');
    if (slash == whole.npos || !whole.substr(slash + 1).starts_with(kControl)) return std::nullopt;
    const auto track = ::rtsp::number<size_t>(whole.substr(slash + 1 + kControl.size()));
    if (track) url = whole.substr(0, slash);
    return track;
}

}  // namespace

TrackUrl split_track(std::string_view url) {
    TrackUrl split;
    split.track = take_track(url);
    const size_t question = std::min(url.find('?'), url.size());
    std::string_view path = url.substr(0, question);
    if (!split.track) split.track = take_track(path);
    split.base = without_slashes(std::string(path).append(url.substr(question)));
    return split;
}

base::Result<::rtmp::StreamAddress> resolve(std::string_view base) {
    size_t host = std::string_view::npos;
    for (std::string_view scheme : {"rtsp://", "rtsps://", "rtspu://"})
        if (http::equal_ignoring_case(base.substr(0, scheme.size()), scheme)) host = scheme.size();
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
