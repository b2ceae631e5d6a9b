#pragma once
// An origin of an edge: the syntax of vhost/cluster/origin, and the addresses of a stream there. Pure text.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/stream_key.h"
#include "service/relay/srt_call.h"
#include "service/relay/target.h"

namespace service::edge {

using relay::Scheme;

struct Origin {
    std::string text;              // as configured
    std::optional<Scheme> scheme;  // nothing: any, as the vhost says
    std::string authority;         // "127.0.0.1:1936", "[::1]", "example.com"
    std::string parameters{};      // of SRT: "latency=200&passphrase=..."

    bool takes_rtmp() const { return !scheme || relay::is_rtmp(*scheme); }
    bool is_srt() const { return scheme == Scheme::kSrt; }
};

// HOST, HOST:PORT, or one of them behind rtmp://, rtmps://, http:// or https://; or srt://HOST:PORT?PARAMETERS.
// kConfig: it is neither; the text has no secret.
base::Result<Origin> parse_origin(std::string_view text);
// Origins as they are shown, and named by all that is not their configuration: without parameters.
std::string shown_origin(std::string_view text);
std::vector<std::string> shown_origins(const std::vector<std::string>& texts);
// The origin that is shown so: of the configuration, or else what the text itself says.
base::Result<Origin> find_origin(const std::vector<std::string>& texts, std::string_view shown);

// Whether both name one server and protocol, where an origin without a scheme has this one.
bool is_same_origin(std::string_view one, std::string_view other, Scheme scheme);

// The stream at an origin that does not speak SRT. vhost: that the origin is asked for. params: "?k=v", or empty. The
// origin's own scheme wins over the other one. kConfig: the URL would be none.
base::Result<relay::Target> target_of(const Origin& origin, Scheme scheme, const base::StreamKey& key,
                                      std::string_view vhost, std::string_view params);
// The same at one that does. path: the servers that the request, or the stream, has passed, with this one: "a,b".
base::Result<relay::SrtTarget> srt_target_of(const Origin& origin, ::srt::StreamMode mode, const base::StreamKey& key,
                                             std::string_view vhost, std::string_view params, std::string_view path);

}  // namespace service::edge
