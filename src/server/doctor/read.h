#pragma once
// Reads the doctor's facts from the machine, and what the configuration names. Blocks for about a second: it writes a
// file to each disk. Changes nothing, and leaves nothing.

#include <string_view>

#include "config/snapshot.h"
#include "server/doctor/facts.h"

namespace server::doctor {

// Relative paths in the configuration are taken from the working directory.
Facts read_facts(const config::Snapshot& snapshot);

// The row NET_RX of /proc/softirqs: a number per processor.
std::vector<uint64_t> parse_network_softirqs(std::string_view text);
// The inode of the socket that listens on the port, of /proc/net/tcp or tcp6; 0: none does.
uint64_t parse_listener_inode(std::string_view text, uint16_t port);

}  // namespace server::doctor
