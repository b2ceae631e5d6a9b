#pragma once
// Reads the facts of a running server for a URL: its streams, connections, sockets, the certificate and the addresses
// of this machine. It changes nothing, and connects to nothing.

#include <functional>
#include <string>
#include <string_view>

#include "server/why/facts.h"
#include "service/shared_parts.h"

namespace server::why {

// Does not yield. What is not published now, but fetched on demand, is asked of the offers.
Live read_live(const service::SharedParts& parts, const Target& target, const config::Snapshot& snapshot);
// Of the listener with the URL's port; nothing: it has none. Blocks on two files: for a worker. key_pairs: of all
// services.
std::optional<CertificateFacts> read_certificate(const Target& target, const config::Snapshot& snapshot);
// Whether a socket of this machine is bound to the port, by the texts of /proc/net/tcp, udp and those of IPv6. Pure.
bool has_socket(std::string_view table, uint16_t port, bool is_tcp);
// By the system's tables; nothing: they cannot be read. Blocks: for a worker.
std::optional<bool> read_listens(const Target& target, const config::Snapshot& snapshot);

}  // namespace server::why
