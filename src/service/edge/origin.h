#pragma once
// An origin of an edge: the syntax of vhost/cluster/origin, and the addresses of a stream there. Pure text.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/stream_key.h"
#include "service/relay/target.h"

namespace service::edge {

using relay::Scheme;

struct Origin {
    std::string text;              // as configured
    std::optional<Scheme> scheme;  // nothing: any, as the vhost says
    std::string authority;         // "127.0.0.1:1936", "[::1]", "example.com"

    bool takes_rtmp() const { return !scheme || relay::is_rtmp(*scheme); }
};

// HOST, HOST:PORT, or one of them behind rtmp://, rtmps://, http:// or https://. kConfig: it is neither.
base::Result<Origin> parse_origin(std::string_view text);

// Whether both name one server and protocol, where an origin without a scheme has this one.
bool is_same_origin(std::string_view one, std::string_view other, Scheme scheme);

// The stream at an origin. vhost: that the origin is asked for. params: "?k=v", or empty. The origin's own scheme wins
// over the other one. kConfig: the URL would be none.
base::Result<relay::Target> target_of(const Origin& origin, Scheme scheme, const base::StreamKey& key,
                                      std::string_view vhost, std::string_view params);

}  // namespace service::edge
