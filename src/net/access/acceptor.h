#pragma once
// Acceptor: a listening TCP socket, and the coroutine that takes its connections. Every TCP listener of clients is one:
// a connection passes the Admission here before anybody else sees it.

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
        // It was admitted. What is made of it is counted (net::Session or Admission::Ticket) before this yields.
        std::function<void(std::unique_ptr<runtime::ByteStream>)> take{};
        // It was not (see Admission::admit), and is logged as refused; it is closed unless this keeps it. May be null.
        std::function<void(std::unique_ptr<runtime::ByteStream>, const base::Error&)> refuse{};
    };

    // what: for the log, "RTMP connection"; name: of the coroutine. Both live for ever; the table outlives it.
    Acceptor(SessionTable& sessions, const char* what, const char* name, Handlers handlers)
        : sessions_(sessions), what_(what), name_(name), handlers_(std::move(handlers)) {}
    ~Acceptor() { stop(); }
    Acceptor(const Acceptor&) = delete;

    base::Result<void> listen(const runtime::SocketAddress& address);
    uint16_t port() const { return socket_->port(); }
    // Takes nobody any more. Yields.
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
