#pragma once
// TCP over the loop's edge-triggered set.

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "runtime/socket/byte_stream.h"

namespace runtime {

// An address to listen on or to connect to: "1935", "0.0.0.0:1935", "127.0.0.1:1935", "[::]:1935". Numeric only; for
// names see dns.h.
struct SocketAddress {
    std::string ip;  // empty: every address, IPv6 and IPv4
    uint16_t port = 0;
    bool ipv6_only = false;   // for [::], which otherwise includes IPv4
    bool reuse_port = false;  // SO_REUSEPORT: other processes of this user may have it, too; for TCP
    static base::Result<SocketAddress> parse(std::string_view text);
    std::string text() const;
};

class TcpListener {
  public:
    virtual ~TcpListener() = default;
    virtual base::Result<std::unique_ptr<ByteStream>> accept(Deadline deadline) = 0;
    virtual uint16_t port() const = 0;  // the actual port when 0 was requested
};

// Whether the address can be bound now; the socket is not kept, and no loop is needed. The error has its errno. type:
// SOCK_STREAM or SOCK_DGRAM.
base::Result<void> try_to_bind(const SocketAddress& address, int type);
// Backlog 4096 or the system's limit; SO_REUSEADDR. The error names the address.
base::Result<std::unique_ptr<TcpListener>> listen_tcp(const SocketAddress& address);
// host: a name or an address.
base::Result<std::unique_ptr<ByteStream>> connect_tcp(const std::string& host, uint16_t port, Deadline deadline);

}  // namespace runtime
