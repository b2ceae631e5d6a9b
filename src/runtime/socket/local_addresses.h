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
// Addresses of the interfaces that are up, IPv4 first; no IPv6 link-local ones. Empty when the system does not report
// them.
std::vector<LocalAddress> local_addresses();
// The first of them that is not of the loopback interface; "127.0.0.1" where there is none.
std::string local_ip();

}  // namespace runtime
