#include "service/local_ip.h"

#include "runtime/socket/local_addresses.h"

namespace service {

std::string local_ip() {
    for (const runtime::LocalAddress& one : runtime::local_addresses())
        if (!one.loopback) return one.ip;
    return "127.0.0.1";
}

}  // namespace service
