#include "runtime/socket/udp.h"

#include <linux/sock_diag.h>
#include <net/if.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <optional>

#include "runtime/loop/coroutine_state.h"
#include "runtime/loop/immortal.h"
#include "runtime/loop/reactor.h"
#include "runtime/socket/address.h"
#include "runtime/socket/lent_datagrams.h"
#include "runtime/socket/shared_sockets.h"
#include "runtime/socket/udp_sources.h"

namespace runtime {
namespace {

constexpr size_t kDatagramUnits = 4096;  // for account()

// One set of recvmmsg's buffers for all sockets: it is never kept across a yield.
struct ReceiveBuffer {
    std::array<std::array<uint8_t, UdpSocket::kMaxDatagramBytes>, UdpSocket::kMaxReceived> bytes;
    std::array<sockaddr_in6, UdpSocket::kMaxReceived> from;
    std::array<iovec, UdpSocket::kMaxReceived> parts;
    std::array<mmsghdr, UdpSocket::kMaxReceived> messages;
    std::array<UdpPacket, UdpSocket::kMaxReceived> packets;
    struct Control {
        alignas(cmsghdr) std::array<uint8_t, detail::UdpSources::kControlBytes> bytes;
    };
    std::array<Control, UdpSocket::kMaxReceived> control;
    bool has_control = false;

    ReceiveBuffer() {
        for (size_t i = 0; i < messages.size(); ++i) {
            parts[i] = {bytes[i].data(), bytes[i].size()};
            messages[i] = {};
            messages[i].msg_hdr.msg_name = &from[i];
            messages[i].msg_hdr.msg_iov = &parts[i];
            messages[i].msg_hdr.msg_iovlen = 1;
        }
    }
    // The kernel has overwritten the sizes.
    void prepare(bool with_control) {
        for (mmsghdr& message : messages) message.msg_hdr.msg_namelen = sizeof(sockaddr_in6);
        if (!with_control && !has_control) return;
        has_control = with_control;
        for (size_t i = 0; i < messages.size(); ++i) {
            messages[i].msg_hdr.msg_control = with_control ? control[i].bytes.data() : nullptr;
            messages[i].msg_hdr.msg_controllen = with_control ? control[i].bytes.size() : 0;
        }
    }
};
ReceiveBuffer& receive_buffer() {
    static detail::Immortal<ReceiveBuffer> buffer;
    return buffer.value;
}

// Exceeds the system's limit if permitted.
void set_buffer(int fd, int forced, int option, int bytes) {
    if (bytes > 0 && setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof bytes);
}

// 224.0.0.0/4 and ff00::/8.
bool is_multicast(const base::IpAddress& ip) { return ip.is_v4() ? ip.bytes[12] >> 4 == 0xe : ip.bytes[0] == 0xff; }

// 0: none is named.
base::Result<unsigned> interface_of(const UdpOptions& options) {
    if (options.multicast_interface.empty()) return 0u;
    const unsigned interface = if_nametoindex(options.multicast_interface.c_str());
    if (interface == 0) return base::fail_errno("interface " + options.multicast_interface, errno);
    return interface;
}

// How the socket sends to groups. RFC 3678, 2.3; RFC 3493, 5.2.
base::Result<void> set_multicast_output(int fd, bool v6, const UdpOptions& options) {
    const auto set = [&](int option4, int option6, const void* value, socklen_t size) -> base::Result<void> {
        if (setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? option6 : option4, value, size) == 0) return {};
        return base::fail_errno("sending to multicast groups", errno);
    };
    if (const int hops = options.multicast_ttl; hops > 0)
        TRY(set(IP_MULTICAST_TTL, IPV6_MULTICAST_HOPS, &hops, sizeof hops));
    const auto interface = static_cast<int>(TRY(interface_of(options)));
    if (interface == 0) return {};
    ip_mreqn request{};
    request.imr_ifindex = interface;
    if (v6) return set(0, IPV6_MULTICAST_IF, &interface, sizeof interface);
    return set(IP_MULTICAST_IF, 0, &request, sizeof request);
}

// RFC 3678, 5.1. The kernel leaves the group when the socket is closed.
base::Result<void> join(int fd, const base::IpAddress& group, const UdpOptions& options) {
    const bool v6 = !group.is_v4();
    const int level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;
    // Otherwise a socket gets the datagrams of all groups that any socket of the machine has joined.
    const int off = 0;
    setsockopt(fd, level, v6 ? IPV6_MULTICAST_ALL : IP_MULTICAST_ALL, &off, sizeof off);
    const unsigned interface = TRY(interface_of(options));
    const auto put = [&](const base::IpAddress& ip, sockaddr_storage& to) {
        const detail::RawAddress raw({ip, 0}, v6);
        std::memcpy(&to, raw.get(), raw.length);
    };
    int failed = 0, joined_before = EADDRINUSE;
    if (options.multicast_source.empty()) {
        group_req request{};
        request.gr_interface = interface;
        put(group, request.gr_group);
        failed = setsockopt(fd, level, MCAST_JOIN_GROUP, &request, sizeof request);
    } else {
        const auto source = base::IpAddress::parse(options.multicast_source);
        if (!source || source->is_v4() == v6)
            return base::fail(base::Code::kSystem, options.multicast_source + " cannot be the source of this group");
        group_source_req request{};
        request.gsr_interface = interface;
        put(group, request.gsr_group);
        put(*source, request.gsr_source);
        failed = setsockopt(fd, level, MCAST_JOIN_SOURCE_GROUP, &request, sizeof request);
        joined_before = EADDRNOTAVAIL;
    }
    // A socket of another process (shared_sockets.h) may have done so.
    if (failed != 0 && errno != joined_before) return base::fail_errno("joining a multicast group", errno);
    return {};
}

class Udp;

struct Sockets {
    Udp* first = nullptr;
    size_t count = 0;
    UdpStats closed;  // of sockets that are closed
    UdpStats measured;
    int64_t measured_ms = 0;
    UdpRate rate;
};
detail::Immortal<Sockets> immortal_sockets;
Sockets& sockets = immortal_sockets.value;

class Udp final : public UdpSocket {
  public:
    ~Udp() override {
        if (watch_.fd() < 0) return;
        sockets.closed += stats();
        (previous_ ? previous_->next_ : sockets.first) = next_;
        if (next_) next_->previous_ = previous_;
        --sockets.count;
    }

    base::Result<void> open(const SocketAddress& address, const UdpOptions& options) {
        const int fd = TRY(detail::bound_socket(address, SOCK_DGRAM));
        port_ = detail::local_endpoint(fd).port;
        set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, options.receive_buffer_bytes);
        set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, options.send_buffer_bytes);
        int family = 0;
        socklen_t length = sizeof family;
        getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length);
        v6_ = family == AF_INET6;
        if (options.reports_destination) sources_.open(fd, v6_);
        if (options.for_clients) client_socket_.emplace().open(fd);
        TRY(watch_.open(fd, detail::Watch::kInputEdges));
        next_ = sockets.first;
        if (next_) next_->previous_ = this;
        sockets.first = this;
        ++sockets.count;
        if (const auto group = base::IpAddress::parse(address.ip); group && is_multicast(*group))
            TRY(join(fd, *group, options), "joining " + address.ip);
        else
            TRY(set_multicast_output(fd, v6_, options));
        return {};
    }

    UdpStats stats() override {
        std::array<uint32_t, SK_MEMINFO_VARS> memory{};
        socklen_t size = sizeof memory;
        if (getsockopt(watch_.fd(), SOL_SOCKET, SO_MEMINFO, memory.data(), &size) == 0) {
            // The kernel's counter has 32 bits.
            stats_.receive_lost += memory[SK_MEMINFO_DROPS] - drops_seen_;
            drops_seen_ = memory[SK_MEMINFO_DROPS];
        }
        return stats_;
    }
    Udp* next() const { return next_; }

    base::Result<std::span<const UdpPacket>> receive_batch(Deadline deadline) override {
        TRY(detail::account(kDatagramUnits));
        ReceiveBuffer& buffer = receive_buffer();
        while (true) {
            TRY(watch_.wait_readable(deadline));
            if (client_socket_ && detail::clients_are_held()) {
                TRY(detail::await_clients(deadline));
                continue;
            }
            buffer.prepare(sources_.is_open());
            const int n = recvmmsg(watch_.fd(), buffer.messages.data(), buffer.messages.size(), MSG_DONTWAIT, nullptr);
            if (n > 0) {
                const std::span<const UdpPacket> packets = take(buffer, static_cast<size_t>(n));
                if (!packets.empty()) return packets;
            } else if (errno == EAGAIN) {
                watch_.read_would_block();
            } else if (errno != EINTR) {
                return base::fail_errno("receiving datagrams", errno);
            }
        }
    }

    base::Result<void> send_to(std::span<const uint8_t> bytes, const base::Endpoint& to, Deadline deadline) override {
        TRY(detail::account(kDatagramUnits));
        const detail::RawAddress raw(to, v6_);
        while (true) {
            if (auto room = watch_.wait_writable(deadline); !room) {
                if (room.error().code() == base::Code::kTimeout) ++stats_.send_lost;
                return room;
            }
            const ssize_t n =
                sendto(watch_.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL, raw.get(), raw.length);
            if (n >= 0) {
                ++stats_.sent;
                return {};
            }
            if (errno == EAGAIN) {
                watch_.write_would_block();
            } else if (errno != EINTR) {
                if (errno == ENOBUFS) ++stats_.send_lost;
                return base::fail_errno("sending a datagram", errno);
            }
        }
    }

    uint16_t port() const override { return port_; }
    int fd() const override { return watch_.fd(); }

    uint16_t source_for(const base::Endpoint& to, uint16_t destination) override {
        return sources_.is_usual(to, destination) ? uint16_t{0} : destination;
    }
    const base::IpAddress* source(uint16_t number) const override { return sources_.find(number); }
    uint16_t number_of(const base::IpAddress& destination) override {
        return sources_.is_open() ? sources_.number_of(destination) : uint16_t{0};
    }
    const base::IpAddress* address_of(uint16_t destination) const override { return sources_.find(destination); }
    bool is_v6() const override { return v6_; }
    bool can_segment() const override {
        const int off = 0;
        return setsockopt(watch_.fd(), IPPROTO_UDP, detail::kUdpSegment, &off, sizeof off) == 0;
    }
    int send_messages(std::span<mmsghdr> messages) override {
        const int sent = sendmmsg(watch_.fd(), messages.data(), static_cast<unsigned>(messages.size()), MSG_DONTWAIT);
        return sent >= 0 ? sent : -errno;
    }
    base::Result<void> wait_writable(Deadline deadline) override { return watch_.wait_writable(deadline); }
    void write_would_block() override { watch_.write_would_block(); }
    void count_sent(size_t sent, size_t lost) override {
        stats_.sent += sent;
        stats_.send_lost += lost;
    }

  private:
    std::span<const UdpPacket> take(ReceiveBuffer& buffer, size_t came) {
        size_t kept = 0;
        for (size_t i = 0; i < came; ++i) {
            const mmsghdr& message = buffer.messages[i];
            if (message.msg_hdr.msg_flags & MSG_TRUNC) {
                ++stats_.receive_lost;
                continue;
            }
            buffer.packets[kept++] = {{buffer.bytes[i].data(), message.msg_len},
                                      detail::endpoint_of(buffer.from[i]),
                                      sources_.is_open() ? sources_.number_of(message.msg_hdr) : uint16_t{0}};
        }
        stats_.received += kept;
        // Fewer than fit: later ones cause a new edge.
        if (came < buffer.messages.size()) watch_.read_fell_short();
        return {buffer.packets.data(), kept};
    }

    detail::Watch watch_;
    std::optional<detail::ClientSocket> client_socket_;
    uint16_t port_ = 0;
    bool v6_ = false;
    detail::UdpSources sources_;
    UdpStats stats_;
    uint32_t drops_seen_ = 0;
    Udp* previous_ = nullptr;
    Udp* next_ = nullptr;
};

}  // namespace

UdpStats& UdpStats::operator+=(const UdpStats& other) {
    received += other.received;
    sent += other.sent;
    receive_lost += other.receive_lost;
    send_lost += other.send_lost;
    return *this;
}

base::Result<std::unique_ptr<UdpSocket>> bind_udp(const SocketAddress& address, const UdpOptions& options) {
    auto socket = std::make_unique<Udp>();
    TRY(socket->open(address, options));
    return socket;
}

size_t udp_sockets() { return sockets.count; }

UdpStats udp_totals() {
    UdpStats total = sockets.closed;
    for (Udp* socket = sockets.first; socket; socket = socket->next()) total += socket->stats();
    if (detail::datagram_senders) {
        const auto [sent, lost] = detail::datagram_senders->datagrams();
        total.sent += sent;
        total.send_lost += lost;
    }
    return total;
}

std::string UdpRate::loss() const { return fmt::format("loss=(r:{},s:{})", receive_lost, send_lost); }

UdpRate udp_rate_between(const UdpStats& before, const UdpStats& now, int64_t elapsed_ms) {
    const auto elapsed = static_cast<uint64_t>(std::max<int64_t>(1, elapsed_ms));
    const auto a_second = [&](uint64_t from, uint64_t to) { return ((to - from) * 1000 + elapsed - 1) / elapsed; };
    return {a_second(before.received, now.received), a_second(before.sent, now.sent),
            a_second(before.receive_lost, now.receive_lost), a_second(before.send_lost, now.send_lost)};
}

UdpRate measure_udp() {
    const UdpStats now = udp_totals();
    const int64_t now_ms = runtime::now_ms();
    sockets.rate = udp_rate_between(sockets.measured, now, now_ms - sockets.measured_ms);
    sockets.measured = now;
    sockets.measured_ms = now_ms;
    return sockets.rate;
}

const UdpRate& udp_rate() { return sockets.rate; }

}  // namespace runtime
