#pragma once
// The path of a stream: the names of the servers that it passed, "a,b", by which a server recognizes a stream that
// comes back to it. It stands in connect of RTMP (forwardPath), and in Via of HTTP and RTSP (protocol/http/via.h).

#include <string>

#include "live/hub/registry.h"

namespace service::relay {

// The path of the stream with this server at its end.
std::string path_through(const live::Stream& stream, const live::Registry& registry);

}  // namespace service::relay
