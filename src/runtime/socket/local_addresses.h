#pragma once
// This machine's addresses, as its interfaces have them now.

#include <string>
#include <vector>

namespace runtime {

struct LocalAddress {
    std::string interface;
    std::string ip;  // as text, without a zone
    bool loopback = false;
};
// Of the interfaces that are up, IPv4 first; without IPv6's link-local ones. Empty where the system does not tell.
std::vector<LocalAddress> local_addresses();

}  // namespace runtime
