#pragma once
// RTMP addresses: rtmp[s]://HOST[:PORT]/APP/STREAM[?k=v&...], and the address given by a client's connect and publish
// or play together: vhost, app, stream and parameters. The vhost is the host name unless the parameters give another,
// in any of the forms in use: STREAM?vhost=V, APP?vhost=V/STREAM, APP...vhost...V/STREAM. Names that could not be part
// of a file name or URL are refused. Nothing is percent-decoded. Whether a vhost exists is not checked here.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rtmp {

inline constexpr uint16_t kDefaultPort = 1935;
inline constexpr size_t kMaxParameters = 4096;  // bytes of all parameters

// A server address to connect to.
struct Url {
    bool tls = false;
    std::string host;  // without brackets
    uint16_t port = kDefaultPort;
    std::string app;     // as in connect, with its parameters: "live", "a/b", "live?vhost=v"
    std::string stream;  // as in publish and play, with its parameters; may be empty

    std::string tc_url() const;  // "rtmp://host/app", with the port where it is not the scheme's default
};

// For a whole URL (the last level of the path is the stream) or a tcUrl (has_stream false: the whole path is the app).
base::Result<Url> parse_url(std::string_view text, bool has_stream = true);
// The same with any scheme or none, "http://h/live", "h/live": the scheme does not matter for a connected client.
base::Result<Url> parse_any_url(std::string_view text, bool has_stream = true);

// The address of a published or played stream.
struct StreamAddress {
    std::string vhost;
    std::string app;     // may have several levels: "a/b"
    std::string stream;  // the last level
    std::string params;  // "?k=v&...", those of the app and of the stream, without vhost; empty: none

    std::string url() const { return "/" + app + "/" + stream; }
};

// tc_url and app: from connect, with any scheme or none; stream: from publish or play. app may be empty (tc_url
// contains it too); where tc_url is empty, the vhost is default_host.
base::Result<StreamAddress> resolve_stream(std::string_view tc_url, std::string_view app, std::string_view stream,
                                           std::string_view default_host = "__defaultVhost__");

// A tcUrl for this vhost and app. params: "?k=v&...", or empty; a vhost in them is left out. The names are not checked:
// only resolve_stream() says what a tcUrl names.
std::string tc_url_of(std::string_view vhost, std::string_view app, std::string_view params);

}  // namespace rtmp
