#pragma once
// The syntax of vhost/forward/destination and of a forward backend's answers: HOST, HOST:PORT, either after rtmp:// or
// rtmps://, and then /APP/STREAM or nothing; or rtsp://USER:PASSWORD@HOST:PORT, rtsps://, and then any path or nothing;
// or srt://HOST:PORT, udp://HOST:PORT, rtp://HOST:PORT, and then ?PARAMETERS or nothing. Only parses text; target.h
// resolves it for a stream.

#include <string>
#include <string_view>

#include "base/result.h"

namespace service::forward {

struct Destination {
    std::string scheme = "rtmp";  // "rtmps", "rtsp", "rtsps", "srt", "udp", "rtp"
    std::string credentials;      // "user:secret@", as it is in the URL; of RTSP alone
    std::string authority;        // "127.0.0.1:1936", "[::1]", "example.com"
    std::string path;             // "live2/[stream]?key=x": app and stream; empty: the same as the stream's own
    std::string parameters;       // of SRT and UDP, which have no path: "latency=200&streamid=..."

    bool is_rtsp() const { return scheme.starts_with("rtsp"); }
    bool is_srt() const { return scheme == "srt"; }
    bool is_udp() const { return scheme == "udp" || scheme == "rtp"; }
};

// kConfig: the text has no password.
base::Result<Destination> parse_destination(std::string_view text);

}  // namespace service::forward
