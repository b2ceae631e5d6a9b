#pragma once
// TcpPort: ICE over TCP, passive (RFC 6544): each connection carries datagrams with two bytes of length before each
// (RFC 4571). A connection is no coroutine. Bounds: kMostUnconfirmed connections that have not shown a right-integrity
// request, each for kConfirmMs; a frame of kMostFrameBytes; kMostBacklogBytes that a peer does not take, beyond which
// datagrams are dropped, as UDP would. All is counted.

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/coroutine.h"
#include "runtime/sync.h"
#include "runtime/tcp.h"
#include "service/rtc/wire.h"

namespace service::rtc {

class TcpPort {
  public:
    static constexpr size_t kMostUnconfirmed = 1000;
    static constexpr size_t kMostConnections = 10'000;
    static constexpr int64_t kConfirmMs = 10'000;
    static constexpr size_t kMostFrameBytes = 2048;
    static constexpr size_t kMostBacklogBytes = 256 * 1024;

    struct Counters {
        uint64_t accepted = 0;
        uint64_t refused = 0;      // there were too many
        uint64_t unconfirmed = 0;  // closed because they did not show who they are
        uint64_t broken = 0;       // closed for a frame that cannot be
        uint64_t dropped = 0;      // datagrams to peers that do not take them
    };

    static base::Result<std::unique_ptr<TcpPort>> open(const runtime::SocketAddress& address, WireUser& user);
    ~TcpPort();  // yields

    uint16_t port() const { return listener_->port(); }
    size_t connections() const { return connections_.size(); }
    const Counters& counters() const { return counters_; }
    // Closes who had time enough. Each second or so.
    void tick(int64_t now_ms);

  private:
    class Connection;
    TcpPort(std::unique_ptr<runtime::TcpListener> listener, WireUser& user);
    void accept_loop();
    void take(std::unique_ptr<runtime::ByteStream> stream);
    void close_soon(Connection& connection);
    void sweep();

    std::unique_ptr<runtime::TcpListener> listener_;
    WireUser& user_;
    std::vector<std::unique_ptr<Connection>> connections_;
    size_t unconfirmed_ = 0;
    bool to_sweep_ = false;
    Counters counters_;
    runtime::Event sweep_{"TCP connections to close"};
    runtime::Task acceptor_;
    runtime::Task sweeper_;
};

}  // namespace service::rtc
