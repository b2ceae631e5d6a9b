#include "runtime/socket/shared_sockets.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "runtime/loop/testing.h"
#include "runtime/socket/address.h"
#include "runtime/socket/byte_stream.h"
#include "runtime/socket/stream_testing.h"
#include "runtime/socket/udp.h"

namespace runtime {
namespace {

using testing::failed_with;
using testing::ok;
using testing::soon;

class SharedSockets : public testing::RuntimeTest {
  protected:
    ~SharedSockets() override {
        hold_clients(false);
        drop_inherited_sockets();
    }
    static int bound(const SocketAddress& address, int type) {
        auto fd = detail::bound_socket(address, type);
        EXPECT_TRUE(ok(fd));
        return fd.value_or(-1);
    }
    static uint16_t port_of(int fd) { return detail::local_endpoint(fd).port; }
    static bool is_of_clients(int fd) {
        const std::vector<int> all = client_sockets();
        return std::ranges::find(all, fd) != all.end();
    }
    static bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }
};

TEST_F(SharedSockets, AnInheritedListenerIsUsedForItsAddress) {
    const int fd = bound({"127.0.0.1", 0}, SOCK_STREAM);
    const uint16_t port = port_of(fd);
    fcntl(fd, F_SETFD, 0);
    EXPECT_TRUE(inherit_sockets(std::array{fd}).empty());
    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    auto listener = listen_tcp({"127.0.0.1", port});
    ASSERT_TRUE(ok(listener));
    EXPECT_EQ((*listener)->port(), port);
    EXPECT_TRUE(is_of_clients(fd));
    EXPECT_TRUE(ok(connect_tcp("127.0.0.1", port, soon())));
    EXPECT_TRUE(ok((*listener)->accept(soon())));
    listener->reset();
    EXPECT_FALSE(is_of_clients(fd));
    EXPECT_FALSE(is_open(fd));
}

TEST_F(SharedSockets, ASocketOfAnotherAddressOrTypeIsNotUsed) {
    const int fd = bound({"127.0.0.1", 0}, SOCK_STREAM);
    const uint16_t port = port_of(fd);
    EXPECT_TRUE(inherit_sockets(std::array{fd}).empty());
    const SocketAddress others[] = {{"127.0.0.2", port}, {"", port}, {"::1", port}, {"127.0.0.1", 0}};
    for (const SocketAddress& other : others)
        EXPECT_FALSE(detail::take_inherited_socket(other, SOCK_STREAM)) << other.text();
    EXPECT_FALSE(detail::take_inherited_socket({"127.0.0.1", port}, SOCK_DGRAM));
    EXPECT_EQ(detail::take_inherited_socket({"127.0.0.1", port}, SOCK_STREAM), fd);
    close(fd);
}

TEST_F(SharedSockets, AnInheritedSocketIsInItsGroup) {
    for (const char* source : {"", "127.0.0.1"}) {
        const UdpOptions options{.multicast_interface = "lo", .multicast_source = source};
        auto first = bind_udp({"239.77.9.9", 0}, options);
        ASSERT_TRUE(ok(first));
        const uint16_t port = (*first)->port();
        EXPECT_TRUE(inherit_sockets(std::array{dup((*first)->fd())}).empty());
        auto second = bind_udp({"239.77.9.9", port}, options);
        EXPECT_TRUE(ok(second)) << source;
    }
}

TEST_F(SharedSockets, AUdpSocketThatFailsToOpenIsNotCounted) {
    auto other = bind_udp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(other));
    const size_t before = udp_sockets();
    EXPECT_FALSE(bind_udp({"127.0.0.1", 0}, {.multicast_interface = "nosuch0"}));
    EXPECT_EQ(udp_sockets(), before);
    EXPECT_TRUE(ok((*other)->send_to({}, {*base::IpAddress::parse("127.0.0.1"), (*other)->port()}, soon())));
    EXPECT_GE(udp_totals().sent, 1u) << "the others are still in the list";
}

TEST_F(SharedSockets, EveryAddressIsOneSocketOfBothFamilies) {
    const int fd = bound({"", 0}, SOCK_DGRAM);
    const uint16_t port = port_of(fd);
    EXPECT_TRUE(inherit_sockets(std::array{fd}).empty());
    EXPECT_FALSE(detail::take_inherited_socket({"::", port, true}, SOCK_DGRAM));
    EXPECT_EQ(detail::take_inherited_socket({"", port}, SOCK_DGRAM), fd);
    close(fd);
}

TEST_F(SharedSockets, EveryAddressMayBeThoseOfIpv4) {
    const int fd = bound({"0.0.0.0", 0}, SOCK_STREAM);
    const uint16_t port = port_of(fd);
    EXPECT_TRUE(inherit_sockets(std::array{fd}).empty());
    EXPECT_EQ(detail::take_inherited_socket({"", port}, SOCK_STREAM), fd);
    close(fd);
}

TEST_F(SharedSockets, WhatIsNoBoundSocketIsClosed) {
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    const int unbound = socket(AF_INET, SOCK_STREAM, 0), local = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(inherit_sockets(std::array{pipes[0], unbound, local, 9'999}).size(), 4u);
    for (int fd : {pipes[0], unbound, local}) EXPECT_FALSE(is_open(fd)) << fd;
    close(pipes[1]);
}

TEST_F(SharedSockets, AConnectionIsNoListener) {
    auto listener = listen_tcp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(listener));
    auto client = connect_tcp("127.0.0.1", (*listener)->port(), soon());
    ASSERT_TRUE(ok(client));
    const int fd = dup((*client)->plain_fd());
    const auto problems = inherit_sockets(std::array{fd});
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_TRUE(problems.front().ends_with("is a connection, not a listener (Accept=yes)")) << problems.front();
}

TEST_F(SharedSockets, UnusedSocketsAreDropped) {
    const int fd = bound({"127.0.0.1", 0}, SOCK_DGRAM);
    const std::string text = fmt::format("127.0.0.1:{}/udp", port_of(fd));
    EXPECT_TRUE(inherit_sockets(std::array{fd}).empty());
    EXPECT_EQ(drop_inherited_sockets(), std::vector{text});
    EXPECT_FALSE(is_open(fd));
}

TEST_F(SharedSockets, HeldClientsWaitInTheKernel) {
    auto listener = listen_tcp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(listener));
    auto port = bind_udp({"127.0.0.1", 0}, {.for_clients = true});
    auto own = bind_udp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(port) && ok(own));
    hold_clients(true);
    EXPECT_TRUE(ok(connect_tcp("127.0.0.1", (*listener)->port(), soon())));
    const std::array<uint8_t, 1> byte{7};
    for (UdpSocket* to : {port->get(), own->get()})
        EXPECT_TRUE(ok((*own)->send_to(byte, {*base::IpAddress::parse("127.0.0.1"), to->port()}, soon())));
    EXPECT_TRUE(failed_with((*listener)->accept(Deadline::in_ms(20)), base::Code::kTimeout));
    EXPECT_TRUE(failed_with((*port)->receive_batch(Deadline::in_ms(20)), base::Code::kTimeout));
    EXPECT_TRUE(ok((*own)->receive_batch(soon()))) << "only what clients come to is held";
    hold_clients(false);
    EXPECT_TRUE(ok((*listener)->accept(soon())));
    EXPECT_TRUE(ok((*port)->receive_batch(soon())));
}

}  // namespace
}  // namespace runtime
