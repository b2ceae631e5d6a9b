#include "runtime/socket/shared_sockets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/loop/immortal.h"
#include "runtime/loop/sync.h"
#include "runtime/socket/address.h"

namespace runtime {
namespace {

struct Inherited {
    int fd = -1;
    int type = 0;
    int family = 0;
    bool ipv6_only = false;
    base::Endpoint address{};

    std::string text() const { return fmt::format("{}/{}", address.text(), type == SOCK_STREAM ? "tcp" : "udp"); }
};

struct Shared {
    std::vector<Inherited> inherited;
    std::vector<int> of_clients;
    bool held = false;
    Event released{"clients that another process serves"};
};
detail::Immortal<Shared> immortal_shared;
Shared& shared = immortal_shared.value;

int option_of(int fd, int level, int name) {
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(fd, level, name, &value, &length) == 0 ? value : -1;
}

base::Result<Inherited> describe(int fd) {
    Inherited socket{.fd = fd,
                     .type = option_of(fd, SOL_SOCKET, SO_TYPE),
                     .family = option_of(fd, SOL_SOCKET, SO_DOMAIN),
                     .address = detail::local_endpoint(fd)};
    const auto no = [fd](std::string_view why) {
        return base::fail(base::Code::kConfig, fmt::format("descriptor {} {}", fd, why));
    };
    if (socket.type < 0) return no("is no socket");
    if (socket.family != AF_INET && socket.family != AF_INET6) return no("is no socket of IP");
    if (socket.type != SOCK_STREAM && socket.type != SOCK_DGRAM) return no("is neither TCP nor UDP");
    if (socket.address.port == 0) return no("is a socket that is not bound");
    detail::RawAddress peer;
    if (socket.type == SOCK_STREAM && getpeername(fd, peer.get(), &peer.length) == 0)
        return no("is a connection, not a listener (Accept=yes)");
    socket.ipv6_only = socket.family == AF_INET6 && option_of(fd, IPPROTO_IPV6, IPV6_V6ONLY) == 1;
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return base::fail_errno(fmt::format("descriptor {}", fd), errno);
    return socket;
}

bool is_any(const base::IpAddress& ip) { return ip == base::IpAddress() || ip == *base::IpAddress::parse("0.0.0.0"); }

// Whether a socket of the wanted address would be one like this. family: of the wanted one.
bool fits(const Inherited& socket, const base::Endpoint& address, int family, bool ipv6_only) {
    if (socket.address != address || socket.family != family) return false;
    return family == AF_INET || !is_any(address.ip) || socket.ipv6_only == ipv6_only;
}

std::optional<int> take(const base::Endpoint& address, int family, bool ipv6_only, int type) {
    const auto found = std::ranges::find_if(shared.inherited, [&](const Inherited& socket) {
        return socket.type == type && fits(socket, address, family, ipv6_only);
    });
    if (found == shared.inherited.end()) return {};
    const int fd = found->fd;
    shared.inherited.erase(found);
    return fd;
}

}  // namespace

std::vector<std::string> inherit_sockets(std::span<const int> descriptors) {
    std::vector<std::string> problems;
    for (const int fd : descriptors) {
        auto socket = describe(fd);
        if (socket) {
            shared.inherited.push_back(*std::move(socket));
            continue;
        }
        problems.push_back(socket.error().text());
        ::close(fd);
    }
    return problems;
}

std::vector<std::string> drop_inherited_sockets() {
    std::vector<std::string> dropped;
    for (const Inherited& socket : std::exchange(shared.inherited, {})) {
        dropped.push_back(socket.text());
        ::close(socket.fd);
    }
    return dropped;
}

std::vector<int> client_sockets() { return shared.of_clients; }

void hold_clients(bool on) {
    shared.held = on;
    if (!on) shared.released.pulse();
}

namespace detail {

std::optional<int> take_inherited_socket(const SocketAddress& address, int type) {
    if (shared.inherited.empty() || address.port == 0) return {};
    if (!address.ip.empty()) {
        const auto ip = base::IpAddress::parse(address.ip);
        if (!ip) return {};
        return take({*ip, address.port}, ip->is_v4() ? AF_INET : AF_INET6, address.ipv6_only, type);
    }
    if (const auto both = take({{}, address.port}, AF_INET6, false, type)) return both;
    return take({*base::IpAddress::parse("0.0.0.0"), address.port}, AF_INET, false, type);
}

void ClientSocket::open(int fd) {
    fd_ = fd;
    shared.of_clients.push_back(fd);
}

ClientSocket::~ClientSocket() {
    if (fd_ >= 0) std::erase(shared.of_clients, fd_);
}

bool clients_are_held() { return shared.held; }

base::Result<void> await_clients(Deadline deadline) {
    while (shared.held) TRY(shared.released.wait_next(deadline));
    return {};
}

}  // namespace detail
}  // namespace runtime
