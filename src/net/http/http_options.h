#pragma once
// The options of an HTTP server from its section of the configuration: http_server or http_api.

#include <string_view>
#include <vector>

#include "config/snapshot.h"
#include "net/http/http_server.h"

namespace net {

// Connections of an HTTP server that are accepted for operators beyond max_connections.
inline constexpr size_t kOperatorReserve = 32;

// For ALPN.
inline const std::vector<std::string_view> kHttpProtocols{"h2", "http/1.1"};

template <class Section>
HttpServerOptions http_server_options(const Section& section, const config::Global& global) {
    HttpServerOptions options;
    options.response.crossdomain = section.crossdomain;
    options.response.write_timeout_ms = section.write_timeout;
    options.request_timeout_ms = section.request_timeout;
    options.body_timeout_ms = section.body_timeout;
    options.idle_timeout_ms = section.idle_timeout;
    options.limits.header_bytes = static_cast<size_t>(section.max_header_size);
    // The URL is part of the head, which needs room for more than a URL.
    options.limits.target_bytes = options.limits.header_bytes / 2;
    options.trusted_proxies = global.trusted_proxies;
    return options;
}

}  // namespace net
