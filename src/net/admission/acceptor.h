#pragma once
// Acceptor: a listening TCP socket, and the coroutine that accepts its connections. Every TCP listener for clients is
// an Acceptor: it asks the Admission about a connection before any other code sees it.

#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "net/sessions/session.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/tcp.h"

namespace net {

class Acceptor {
  public:
    struct Handlers {
        // The connection was admitted. What is created for it must be counted (net::Session or Admission::Ticket)
        // before this yields.
        std::function<void(std::unique_ptr<runtime::ByteStream>)> take{};
        // The connection was refused (see Admission::admit), and the refusal logged; it is closed unless this keeps it.
        // May be null.
        std::function<void(std::unique_ptr<runtime::ByteStream>, const base::Error&)> refuse{};
    };

    // what: for the log, "RTMP connection"; name: of the coroutine. Both must never be freed; the table must outlive
    // the acceptor.
    Acceptor(SessionTable& sessions, const char* what, const char* name, Handlers handlers)
        : sessions_(sessions), what_(what), name_(name), handlers_(std::move(handlers)) {}
    ~Acceptor() { stop(); }
    Acceptor(const Acceptor&) = delete;

    base::Result<void> listen(const runtime::SocketAddress& address);
    uint16_t port() const { return socket_->port(); }
    // Accepts no more connections. Yields.
    void stop();

  private:
    void run();

    SessionTable& sessions_;
    const char* what_;
    const char* name_;
    Handlers handlers_;
    std::unique_ptr<runtime::TcpListener> socket_;
    runtime::Task task_;
};

}  // namespace net
