#include "runtime/socket/udp_sources.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "runtime/socket/address.h"

namespace runtime::detail {
namespace {

base::IpAddress ip_of(const in6_addr& v6) {
    base::IpAddress ip;
    std::memcpy(ip.bytes.data(), &v6, 16);
    return ip;
}

base::IpAddress ip_of(const in_addr& v4) {
    base::IpAddress ip;
    ip.bytes[10] = ip.bytes[11] = 0xff;
    std::memcpy(ip.bytes.data() + 12, &v4, 4);
    return ip;
}

template <class Info>
size_t write(cmsghdr* room, int level, int type, const Info& info) {
    room->cmsg_level = level;
    room->cmsg_type = type;
    room->cmsg_len = CMSG_LEN(sizeof info);
    std::memcpy(CMSG_DATA(room), &info, sizeof info);
    return CMSG_SPACE(sizeof info);
}

}  // namespace

bool UdpSources::open(int fd, bool v6) {
    const base::IpAddress ip = local_endpoint(fd).ip;
    if (ip != base::IpAddress() && ip != ip_of(in_addr{INADDR_ANY})) return false;
    const int on = 1;
    // An IPv6 socket reports the destination of IPv4 datagrams, too.
    open_ = v6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on) == 0
               : setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on) == 0;
    return open_;
}

uint16_t UdpSources::number_of(const msghdr& message) {
    const cmsghdr* head = CMSG_FIRSTHDR(&message);
    if (!head) return 0;
    base::IpAddress ip;
    if (head->cmsg_level == IPPROTO_IPV6 && head->cmsg_type == IPV6_PKTINFO) {
        in6_pktinfo info;
        std::memcpy(&info, CMSG_DATA(head), sizeof info);
        ip = ip_of(info.ipi6_addr);
    } else if (head->cmsg_level == IPPROTO_IP && head->cmsg_type == IP_PKTINFO) {
        in_pktinfo info;
        std::memcpy(&info, CMSG_DATA(head), sizeof info);
        ip = ip_of(info.ipi_spec_dst);
    } else {
        return 0;
    }
    return number_of(ip);
}

uint16_t UdpSources::number_of(const base::IpAddress& destination) {
    if (destination == base::IpAddress()) return 0;
    auto found = std::ranges::find(addresses_, destination);
    if (found == addresses_.end()) {
        if (addresses_.size() == kMaxAddresses) return 0;
        found = addresses_.insert(found, destination);
    }
    return static_cast<uint16_t>(found - addresses_.begin() + 1);
}

bool UdpSources::is_usual(const base::Endpoint& to, uint16_t number) const {
    const base::IpAddress* source = find(number);
    if (!source) return true;
    const RawAddress raw(to, !to.is_v4());
    const int fd = socket(raw.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    const bool usual = connect(fd, raw.get(), raw.length) == 0 && local_endpoint(fd).ip == *source;  // sends nothing
    close(fd);
    return usual;
}

size_t write_source(cmsghdr* room, bool v6, const base::IpAddress& source) {
    if (!v6) {
        in_pktinfo info{};
        std::memcpy(&info.ipi_spec_dst, source.bytes.data() + 12, 4);
        return write(room, IPPROTO_IP, IP_PKTINFO, info);
    }
    in6_pktinfo info{};
    std::memcpy(&info.ipi6_addr, source.bytes.data(), 16);
    return write(room, IPPROTO_IPV6, IPV6_PKTINFO, info);
}

}  // namespace runtime::detail
