#pragma once
// The current addresses of this machine's interfaces.

#include <string>
#include <vector>

namespace runtime {

struct LocalAddress {
    std::string interface;
    std::string ip;  // as text, without a zone
    bool loopback = false;
};
// Of the interfaces that are up, IPv4 first; without IPv6 link-local addresses. Empty when the system does not report
// them.
std::vector<LocalAddress> local_addresses();

}  // namespace runtime
