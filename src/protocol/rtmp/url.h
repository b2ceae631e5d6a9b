#pragma once
// RTMP addresses: rtmp[s]://HOST[:PORT]/APP/STREAM[?k=v&...], and what a client's connect and publish or play say
// together: vhost, app, stream and parameters. The vhost is the host's name unless the parameters name another, in any
// of the forms operators use: STREAM?vhost=V, APP?vhost=V/STREAM, APP...vhost...V/STREAM. Names are refused when they
// could not be a file's or a URL's part. Nothing is percent-decoded; which vhosts exist is not known here.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rtmp {

inline constexpr uint16_t kDefaultPort = 1935;
inline constexpr size_t kMaxName = 256;         // bytes of a vhost, app or stream name
inline constexpr size_t kMaxParameters = 4096;  // bytes of all parameters

// Where to connect to.
struct Url {
    bool tls = false;
    std::string host;  // without brackets
    uint16_t port = kDefaultPort;
    std::string app;     // as connect says it, with its parameters: "live", "a/b", "live?vhost=v"
    std::string stream;  // as publish and play say it, with its parameters; may be empty

    std::string tc_url() const;  // "rtmp://host/app", with the port where it is not the scheme's
};

// Both for a whole URL (the last level of the path is the stream) and a tcUrl (has_stream false: all of it is the app).
base::Result<Url> parse_url(std::string_view text, bool has_stream = true);
// The same with any scheme or none, "http://h/live", "h/live": of clients that are here already it tells nothing.
base::Result<Url> parse_any_url(std::string_view text, bool has_stream = true);

// What is published or played.
struct StreamAddress {
    std::string vhost;
    std::string app;     // may have several levels: "a/b"
    std::string stream;  // the last level
    std::string params;  // "?k=v&...", those of the app and of the stream, without vhost; empty when there are none

    std::string url() const { return "/" + app + "/" + stream; }
};

// tc_url and app: of connect, the scheme is any or none; stream: of publish or play. app may be empty (it is in tc_url
// too); where tc_url is empty, the vhost is default_host.
base::Result<StreamAddress> resolve_stream(std::string_view tc_url, std::string_view app, std::string_view stream,
                                           std::string_view default_host = "__defaultVhost__");

}  // namespace rtmp
