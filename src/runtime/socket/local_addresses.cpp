#include "runtime/socket/local_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <memory>

namespace runtime {
namespace {

struct Free {
    void operator()(ifaddrs* list) const { freeifaddrs(list); }
};

std::string text_of(const sockaddr* address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address->sa_family == AF_INET)
        inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
    if (address->sa_family == AF_INET6) {
        const in6_addr& ip = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
        if (!IN6_IS_ADDR_LINKLOCAL(&ip)) inet_ntop(AF_INET6, &ip, text, sizeof text);
    }
    return text;
}

}  // namespace

std::vector<LocalAddress> local_addresses() {
    std::vector<LocalAddress> all;
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return all;
    const std::unique_ptr<ifaddrs, Free> owner(list);
    for (int family : {AF_INET, AF_INET6}) {
        for (const ifaddrs* one = list; one; one = one->ifa_next) {
            if (!one->ifa_addr || one->ifa_addr->sa_family != family || !(one->ifa_flags & IFF_UP)) continue;
            std::string text = text_of(one->ifa_addr);
            if (!text.empty()) all.push_back({one->ifa_name, std::move(text), (one->ifa_flags & IFF_LOOPBACK) != 0});
        }
    }
    return all;
}

std::string local_ip() {
    for (const LocalAddress& one : local_addresses())
        if (!one.loopback) return one.ip;
    return "127.0.0.1";
}

}  // namespace runtime
