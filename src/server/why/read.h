#pragma once
// Reads the facts of a running server for a URL: its streams, connections, sockets, the certificate and the addresses
// of this machine. It changes nothing, and connects to nothing.

#include <functional>
#include <string>
#include <string_view>

#include "server/why/target.h"
#include "service/shared_parts.h"
#include "service/url/facts.h"

namespace server::why {

// Does not yield. What is not published now, but fetched on demand, is asked of the offers.
service::url::Live read_live(const service::SharedParts& parts, const Target& target, const config::Snapshot& snapshot);
// Of the listener with the URL's port; nothing: it has none. Blocks on a file: for a worker.
std::optional<service::url::CertificateFacts> read_certificate(const Target& target, const config::Snapshot& snapshot);
// Whether a socket of this machine is bound to the port, by the texts of /proc/net/tcp, udp and those of IPv6. Pure.
bool has_socket(std::string_view table, uint16_t port, bool is_tcp);
// By the system's tables; nothing: they cannot be read. Blocks: for a worker.
std::optional<bool> read_listens(const Target& target, const config::Snapshot& snapshot);

}  // namespace server::why
