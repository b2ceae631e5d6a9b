#pragma once
// What vhost/forward/destination may say, and what a forward backend may answer: HOST, HOST:PORT, either behind rtmp://
// or rtmps://, and then /APP/STREAM or nothing. Pure text; what it leads to for a stream is service/forward's.

#include <string>
#include <string_view>

#include "base/result.h"

namespace config {

struct ForwardDestination {
    bool tls = false;
    std::string authority;  // "127.0.0.1:1936", "[::1]", "example.com"
    std::string path;       // "live2/[stream]?key=x": app and stream; empty: the stream's own
};

base::Result<ForwardDestination> parse_forward_destination(std::string_view text);

}  // namespace config
