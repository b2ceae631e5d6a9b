#include "protocol/rtsp/text.h"

#include <algorithm>

#include "protocol/http/headers.h"

namespace rtsp {

std::string_view take_until(std::string_view& rest, char separator) {
    bool quoted = false;
    size_t end = 0;
    for (; end < rest.size() && (quoted || rest[end] != separator); ++end)
        if (rest[end] == '"') quoted = !quoted;
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return http::trim(part);
}

}  // namespace rtsp
