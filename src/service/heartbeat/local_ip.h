#pragma once
// This machine's address, as others may know it.

#include <string>

namespace service::heartbeat {

// The first IPv4 address that is up and no loopback; then IPv6 likewise; then 127.0.0.1.
std::string local_ip();

}  // namespace service::heartbeat
