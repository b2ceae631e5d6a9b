#pragma once
// TcpPort: ICE over TCP, passive (RFC 6544): each connection carries datagrams, each with a length prefix of two bytes
// (RFC 4571). A connection has no coroutine. It counts for net::Admission. Limits: kMaxUnconfirmed connections that
// have not yet sent a STUN request with valid integrity, of which the oldest is closed to make room for a new one, each
// for at most kConfirmMs; a frame of kMaxFrameBytes; kMaxBacklogBytes of data that the peer does not read, beyond which
// datagrams are dropped, as UDP would. All of it is counted.

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "base/indexed_list.h"
#include "net/admission/acceptor.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"
#include "runtime/loop/timers.h"
#include "service/rtc/connection/wire.h"

namespace service::rtc {

class TcpPort {
  public:
    static constexpr size_t kMaxUnconfirmed = 1000;
    static constexpr int64_t kConfirmMs = 10'000;
    static constexpr size_t kMaxFrameBytes = 2048;
    static constexpr size_t kMaxBacklogBytes = 256 * 1024;

    struct Counters {
        uint64_t accepted = 0;
        uint64_t replaced = 0;     // closed, before a valid request, to make room for others
        uint64_t unconfirmed = 0;  // closed because no valid request came in time
        uint64_t broken = 0;       // closed for an invalid frame
        uint64_t dropped = 0;      // datagrams dropped because the peer does not read
    };

    // Both references must outlive it.
    static base::Result<std::unique_ptr<TcpPort>> open(const runtime::SocketAddress& address, WireUser& user,
                                                       net::SessionTable& sessions);
    ~TcpPort();  // yields

    uint16_t port() const { return acceptor_.port(); }
    size_t connections() const { return connections_.size(); }
    const Counters& counters() const { return counters_; }

  private:
    class Connection;
    // Due when the time of the oldest unconfirmed connection is over.
    struct ConfirmTimer final : runtime::Timer {
        explicit ConfirmTimer(TcpPort& of) : port(of) {}
        void on_due() override { port.close_late(); }
        TcpPort& port;
    };
    TcpPort(WireUser& user, net::SessionTable& sessions);
    void take(std::unique_ptr<runtime::ByteStream> stream);
    void close_soon(Connection& connection);
    bool sweep();
    void close_late();

    WireUser& user_;
    net::Admission& admission_;
    base::IndexedList<Connection> connections_;
    std::list<Connection*> unconfirmed_;  // oldest first
    ConfirmTimer confirm_timer_{*this};
    std::vector<Connection*> leaving_;
    Counters counters_;
    runtime::Event sweep_{"TCP connections to close"};
    net::Acceptor acceptor_;
    runtime::Task sweeper_;
};

}  // namespace service::rtc
