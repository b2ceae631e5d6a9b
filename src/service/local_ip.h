#pragma once
// This machine's address for use by others.

#include <string>

namespace service {

// The first IPv4 address that is up and not loopback; otherwise IPv6 likewise; otherwise 127.0.0.1.
std::string local_ip();

}  // namespace service
