#pragma once
// Target: where a connection of the load goes to. rtmp://HOST[:PORT]/APP/STREAM, http://HOST[:PORT]/PATH for FLV over
// HTTP and HLS, https:// for low-latency HLS over HTTP/2, rtsp://HOST[:PORT]/APP/STREAM, srt://HOST:PORT/STREAM_ID,
// tcp://HOST:PORT for bytes without a protocol and udp://HOST:PORT for packets without a session (the floors). "{i}"
// anywhere becomes the connection's number. rtmps and rtsps are not spoken: the load tool measures delivery, not
// ciphers.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/rtmp/url.h"

namespace load {

enum class Scheme : uint8_t { kRtmp, kHttp, kHttps, kRtsp, kSrt, kTcp, kUdp };

struct Target {
    Scheme scheme = Scheme::kRtmp;
    std::string host;
    uint16_t port = 0;
    std::string path;  // http, https and srt: from the "/" on
    std::string url;   // rtsp: all of it
    rtmp::Url rtmp;    // rtmp
};

// url with every "{i}" replaced by the number.
std::string number_url(std::string_view url, uint32_t i);
base::Result<Target> parse_target(std::string_view url);

}  // namespace load
