#pragma once
// The target of a forwarded stream: the address that a destination, from the configuration or a backend's answer,
// stands for. Pure text; it opens nothing.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "live/hub/stream.h"
#include "service/forward/udp_target.h"
#include "service/relay/target.h"

namespace service::forward {

struct Target {
    // Nothing: another protocol.
    std::optional<relay::Target> rtmp;
    std::optional<UdpTarget> udp;
    std::string text;  // the complete address, with user and password: equal texts are the same target
    // For logs and lists: without what may be a secret, credentials, parameters and names that are not the stream's.
    std::string shown;
};

// destination: see service/forward/destination.h. Without a path, the stream keeps its app, name and parameters, and
// its vhost is passed as ?vhost= unless it is the default one. params: "?k=v", or empty. path: the servers that the
// stream has passed, with this one, for addresses of SRT.
base::Result<Target> make_target(std::string_view destination, const live::StreamKey& key, std::string_view params,
                                 std::string_view path = {});

}  // namespace service::forward
