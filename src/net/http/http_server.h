#pragma once
// HttpServer: listeners, plain and TLS, and a coroutine per connection that serves HTTP/1.1 and 1.0 requests one after
// another from a router: keep-alive, pipelining, Expect, CORS, and limits on time, size and number. Each connection is
// a net::Session until a handler takes its stream away. A client is told what it did wrong (400, 408, 413, 414, 431
// ...) and then closed gently, so that it can read the answer.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ip.h"
#include "net/access/acceptor.h"
#include "net/http/http_exchange.h"
#include "net/http/http_router.h"
#include "net/sessions/session.h"
#include "protocol/http/message.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/tls.h"

namespace net {

class HttpConnection;

struct HttpServerOptions {
    HttpResponseOptions response;
    http::Limits limits;                  // body_bytes is each route's own
    int64_t request_timeout_ms = 10'000;  // for a request's head, from its first byte; for the first one from accept
    int64_t body_timeout_ms = 30'000;
    int64_t idle_timeout_ms = 60'000;  // between requests
    uint32_t requests_per_connection = 1'000;
    std::vector<base::IpNetwork> trusted_proxies;  // see forwarded.h
    // So many connections are taken though max_connections is reached. Of their requests those alone are served that
    // may_use_reserve says yes to (null: all); message: its head.
    size_t reserve = 0;
    std::function<bool(const http::Request& message, std::string_view client_ip)> may_use_reserve{};
};

struct HttpCounters {
    uint64_t connections = 0;
    uint64_t reserve_used = 0;  // connections of these that were taken from the reserve
    uint64_t requests = 0;
    uint64_t refused = 0;       // 503 and 429, too many connections
    uint64_t bad_requests = 0;  // malformed, too large or too slow
};

class HttpServer {
  public:
    // Both outlive it. Routes are added before anybody is accepted.
    HttpServer(SessionTable& sessions, const HttpRouter& router, HttpServerOptions options);
    ~HttpServer();  // stops: yields
    HttpServer(const HttpServer&) = delete;

    // tls: null for plain HTTP. router: what is served there; null: what the server was made with. The error names the
    // address.
    base::Result<void> listen(const runtime::SocketAddress& address, std::shared_ptr<runtime::TlsContext> tls = nullptr,
                              const HttpRouter* router = nullptr);
    uint16_t port(size_t listener = 0) const;
    // Requests that come from now on have these.
    void set_options(HttpServerOptions options);
    // TLS connections that come from now on have this key and certificate.
    void set_tls(std::shared_ptr<runtime::TlsContext> tls);

    // No new connections, but where a route has clients that come by new ones (HttpRoute::still_served): others get 503
    // there. Idle ones are closed, busy ones after the response under way.
    void stop_accepting();
    // Ends everything; yields until it has.
    void stop();

    size_t connections() const { return connections_.size(); }
    const HttpCounters& counters() const { return counters_; }

  private:
    friend class HttpConnection;
    struct Listener {
        std::unique_ptr<Acceptor> acceptor;
        std::shared_ptr<runtime::TlsContext> tls;
        const HttpRouter* router;

        bool still_serves() const;
    };
    enum class Place : uint8_t { kAdmitted, kReserve };
    static constexpr size_t kMaxRefusals = 64;  // 503s under way at once; beyond them connections are just closed

    void start(std::unique_ptr<runtime::ByteStream> stream, const Listener& listener, Place place);
    void remove(HttpConnection& connection);
    bool has_reserve();
    void refuse(std::unique_ptr<runtime::ByteStream> stream, const Listener& listener, const base::Error& error);

    SessionTable& sessions_;
    const HttpRouter& router_;
    std::shared_ptr<const HttpServerOptions> options_;
    std::vector<std::unique_ptr<Listener>> listeners_;
    std::vector<std::unique_ptr<HttpConnection>> connections_;  // each knows its index
    size_t in_reserve_ = 0;                                     // of these
    SpareList reserve_spares_;  // in the reserve, and not serving a request that may use it
    std::vector<runtime::Task> refusals_;
    bool stopping_ = false;
    HttpCounters counters_;
};

}  // namespace net
