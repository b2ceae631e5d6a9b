#pragma once
// Reads the doctor's facts from the machine, for what the configuration names. Blocks for about a second: it writes a
// file to each disk, which it removes. It changes nothing else.

#include <string_view>

#include "config/snapshot.h"
#include "server/doctor/facts.h"

namespace server::doctor {

// Relative paths in the configuration are relative to the working directory.
Facts read_facts(const config::Snapshot& snapshot);

// Parses the row NET_RX of /proc/softirqs: a number per processor.
std::vector<uint64_t> parse_network_softirqs(std::string_view text);
// Finds the inode of the socket that listens on the port, in the text of /proc/net/tcp or tcp6; 0: none.
uint64_t parse_listener_inode(std::string_view text, uint16_t port);

}  // namespace server::doctor
