#pragma once
// HttpServer: listeners, plain and TLS, and connections on which HTTP/1.1 and 1.0 requests are served one after another
// from a router: keep-alive, pipelining, Expect, CORS, and limits on time, size and number. A connection that waits for
// its next request has no coroutine. Each connection is a net::Session until a handler detaches its stream. A client
// error is answered (400, 408, 413, 414, 431 ...) and the connection closed gracefully, so that the client can read the
// answer.

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/indexed_list.h"
#include "base/ip.h"
#include "net/admission/acceptor.h"
#include "net/admission/tls_pair.h"
#include "net/http/http_dispatch.h"
#include "net/http/http_exchange.h"
#include "net/http/http_router.h"
#include "net/http/opened_files.h"
#include "net/sessions/session.h"
#include "protocol/http/message.h"
#include "runtime/loop/coroutine_pool.h"
#include "runtime/loop/sync.h"

namespace net {

class HttpConnection;

struct HttpServerOptions {
    HttpResponseOptions response;
    http::Limits limits;                  // body_bytes is set by each route
    int64_t request_timeout_ms = 10'000;  // for a request's head, from its first byte; for the first one from accept
    int64_t body_timeout_ms = 30'000;
    int64_t idle_timeout_ms = 60'000;  // between requests
    uint32_t requests_per_connection = 1'000;
    std::vector<base::IpNetwork> trusted_proxies;  // see forwarded.h
    // The number of connections accepted beyond max_connections. Of their requests only those are served for which
    // may_use_reserve returns true (null: all); message: the request's head.
    size_t reserve = 0;
    std::function<bool(const http::Request& message, std::string_view client_ip)> may_use_reserve{};
    // All its clients are the server's other process, which has checked whose requests it passes on.
    bool is_of_other_process = false;
    size_t opened_files = OpenedFiles::kDefaultLimit;  // kept for a second; see opened_files.h
};

struct HttpCounters {
    uint64_t connections = 0;
    uint64_t reserve_used = 0;  // of these: accepted from the reserve
    uint64_t requests = 0;
    uint64_t refused = 0;       // 503 and 429: too many connections
    uint64_t bad_requests = 0;  // malformed, too large or too slow
};

class HttpServer {
  public:
    // Both must outlive it. All routes must be added before connections are accepted.
    HttpServer(SessionTable& sessions, const HttpRouter& router, HttpServerOptions options);
    ~HttpServer();  // calls stop(): yields
    HttpServer(const HttpServer&) = delete;

    // tls: loaded, must outlive it; null for plain HTTP. router: serves this listener; null: the constructor's. The
    // error names the address.
    base::Result<void> listen(const runtime::SocketAddress& address, const TlsPair* tls = nullptr,
                              const HttpRouter* router = nullptr);
    // A client that comes by another way than a listener. router: as of listen(). Does not yield.
    void serve(std::unique_ptr<runtime::ByteStream> stream, const HttpRouter* router = nullptr);
    uint16_t port(size_t listener = 0) const;
    // For requests that arrive from now on; the idle timeout for connections that are idle, too.
    void set_options(HttpServerOptions options);

    // Accepts no new clients. Listeners stay open only where a route has clients that open new connections
    // (HttpRoute::still_served): other requests get 503 there. Idle connections are closed, busy ones after the current
    // response.
    void stop_accepting();
    // While it is on, connections end with the current response, so that clients come again by new ones, which another
    // process accepts; idle ones are closed.
    void give_over(bool on);
    // Ends all connections; yields until they have ended.
    void stop();

    size_t connections() const { return connections_.size(); }
    const HttpCounters& counters() const { return counters_; }

  private:
    friend class HttpConnection;
    struct Listener {
        std::unique_ptr<Acceptor> acceptor;
        const TlsPair* tls;
        const HttpRouter* router;

        bool still_serves() const;
    };
    enum class Slot : uint8_t { kAdmitted, kReserve };
    static constexpr size_t kMaxRefusals = 64;  // concurrent 503 responses; beyond them connections are just closed

    bool ends_connections() const { return stopping_ || given_over_; }
    void start(std::unique_ptr<runtime::ByteStream> stream, const Listener& listener, Slot slot);
    void start_closing_idle();
    bool has_reserve();
    void refuse(std::unique_ptr<runtime::ByteStream> stream, const Listener& listener, const base::Error& error);
    // A coroutine's body: closes connections that have been idle for too long, until it is cancelled.
    void close_idle();

    SessionTable& sessions_;
    const HttpRouter& router_;
    std::shared_ptr<const HttpServerOptions> options_;
    std::vector<std::unique_ptr<Listener>> listeners_;
    OpenedFiles opened_files_;
    runtime::CoroutinePool pool_{"http"};
    std::list<HttpConnection*> idle_;  // the longest first
    runtime::Event has_idle_{"an idle connection"};
    runtime::Event new_options_{"the end of an idle connection's time"};
    runtime::Task close_idle_;
    base::IndexedList<HttpConnection> connections_;
    size_t in_reserve_ = 0;      // of these
    EvictionList reserve_idle_;  // in the reserve, and not serving a request that may use it
    std::vector<runtime::Task> refusals_;
    bool stopping_ = false;
    bool given_over_ = false;
    HttpCounters counters_;
    HttpDispatch::Logs logs_;
};

}  // namespace net
