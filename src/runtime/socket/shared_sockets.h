#pragma once
// Sockets that clients come to, shared by processes. A process may get bound sockets from another one: a service
// manager (LISTEN_FDS), or the server that it replaces. What is to be bound to the address of such a socket then is
// that socket (listen_tcp(), bind_udp()), without a permission for the port and without a gap in which it is closed.
//
// The kernel gives a connection or datagram to whichever process asks first, so only one of them may ask at a time:
// hold_clients(). For the loop's thread.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/loop/deadline.h"
#include "runtime/socket/tcp.h"

namespace runtime {

// Takes the descriptors. What is no bound socket of TCP or UDP is closed, and described in the result.
std::vector<std::string> inherit_sockets(std::span<const int> descriptors);
// Closes those that nothing was bound to, and returns their addresses: "0.0.0.0:1935/tcp".
std::vector<std::string> drop_inherited_sockets();

// The descriptors of all listeners of TCP, and of the ports of UDP that clients come to (UdpOptions::for_clients). They
// stay theirs.
std::vector<int> client_sockets();
// While it is on, those accept no connections and receive no datagrams, which stay in the kernel's queues.
void hold_clients(bool on);

namespace detail {

// An inherited socket of that address, non-blocking and closed on exec. Nothing: there is none. type: SOCK_STREAM or
// SOCK_DGRAM.
std::optional<int> take_inherited_socket(const SocketAddress& address, int type);

// While it lives, the descriptor is one of client_sockets().
class ClientSocket {
  public:
    ClientSocket() = default;
    ClientSocket(const ClientSocket&) = delete;
    ~ClientSocket();
    void open(int fd);

  private:
    int fd_ = -1;
};

bool clients_are_held();
// Yields until they are not.
base::Result<void> await_clients(Deadline deadline);

}  // namespace detail
}  // namespace runtime
