#pragma once
// An origin of an edge: the syntax of vhost/cluster/origin, and the addresses of a stream there. Pure text.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/stream_key.h"
#include "protocol/http/url.h"
#include "protocol/rtmp/url.h"

namespace service::edge {

enum class Scheme : uint8_t { kRtmp, kRtmps, kHttp, kHttps };
std::string_view scheme_name(Scheme scheme);
constexpr bool is_rtmp(Scheme scheme) { return scheme == Scheme::kRtmp || scheme == Scheme::kRtmps; }

struct Origin {
    std::string text;              // as configured
    std::optional<Scheme> scheme;  // nothing: any, as the vhost says
    std::string authority;         // "127.0.0.1:1936", "[::1]", "example.com"

    bool takes_rtmp() const { return !scheme || is_rtmp(*scheme); }
};

// HOST, HOST:PORT, or one of them behind rtmp://, rtmps://, http:// or https://. kConfig: it is neither.
base::Result<Origin> parse_origin(std::string_view text);

// Whether both name one server and protocol, where an origin without a scheme has this one.
bool is_same_origin(std::string_view one, std::string_view other, Scheme scheme);

// Where one stream is pulled from. The URL has parameters of a client: it is not for the log.
struct Source {
    Scheme scheme = Scheme::kRtmp;
    std::string url;
    std::string shown;  // the same without parameters
    // By RTMP, for connect: with the vhost as its host, as SRS sends it; empty: that of the URL.
    std::string tc_url{};
};

// The stream at an origin. vhost: that the origin is asked for. params: "?k=v", or empty. The origin's own scheme wins
// over the other one. kConfig: the URL would be none.
base::Result<Source> source_of(const Origin& origin, Scheme scheme, const base::StreamKey& key, std::string_view vhost,
                               std::string_view params);
// Where a server says that the stream is: in a redirect. kProtocol: it is no URL of the same kind of protocol.
base::Result<Source> redirected(const Source& from, std::string_view location);

}  // namespace service::edge
