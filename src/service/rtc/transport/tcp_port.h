#pragma once
// TcpPort: ICE over TCP, passive (RFC 6544): each connection carries datagrams with two bytes of length before each
// (RFC 4571). A connection is no coroutine. It counts for net::Admission. Bounds: kMaxUnconfirmed connections that have
// not shown a right-integrity request, of which the oldest makes room for a new one, each for kConfirmMs; a frame of
// kMaxFrameBytes; kMaxBacklogBytes that a peer does not take, beyond which datagrams are dropped, as UDP would. All
// is counted.

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "net/access/acceptor.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"
#include "service/rtc/transport/wire.h"

namespace service::rtc {

class TcpPort {
  public:
    static constexpr size_t kMaxUnconfirmed = 1000;
    static constexpr int64_t kConfirmMs = 10'000;
    static constexpr size_t kMaxFrameBytes = 2048;
    static constexpr size_t kMaxBacklogBytes = 256 * 1024;

    struct Counters {
        uint64_t accepted = 0;
        uint64_t replaced = 0;     // closed to make room for others before they showed who they are
        uint64_t unconfirmed = 0;  // closed because they did not
        uint64_t broken = 0;       // closed for a frame that cannot be
        uint64_t dropped = 0;      // datagrams to peers that do not take them
    };

    // Both outlive it.
    static base::Result<std::unique_ptr<TcpPort>> open(const runtime::SocketAddress& address, WireUser& user,
                                                       net::SessionTable& sessions);
    ~TcpPort();  // yields

    uint16_t port() const { return acceptor_.port(); }
    size_t connections() const { return connections_.size(); }
    const Counters& counters() const { return counters_; }
    // Closes who had time enough. Each second or so.
    void tick(int64_t now_ms);

  private:
    class Connection;
    TcpPort(WireUser& user, net::SessionTable& sessions);
    void take(std::unique_ptr<runtime::ByteStream> stream);
    void close_soon(Connection& connection);
    bool sweep();

    WireUser& user_;
    net::Admission& admission_;
    std::vector<std::unique_ptr<Connection>> connections_;  // each knows its index
    std::list<Connection*> unconfirmed_;                    // the oldest first
    std::vector<Connection*> leaving_;
    Counters counters_;
    runtime::Event sweep_{"TCP connections to close"};
    net::Acceptor acceptor_;
    runtime::Task sweeper_;
};

}  // namespace service::rtc
