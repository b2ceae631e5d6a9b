#pragma once
// HttpConnection: one client of an HttpServer, from the TLS handshake to the close. While it handshakes, and from a
// request's first byte until its response is sent, a coroutine of the server's pool serves it; between requests, and
// while a request waits that was deferred, it rests without one. If HTTP/2 was agreed on, an Http2Session does all
// that, and only its streams have coroutines. Private to HttpServer.

#include <list>
#include <memory>
#include <string>

#include "net/http/http1_response.h"
#include "net/http/http2_session.h"
#include "net/http/http_dispatch.h"
#include "net/http/http_server.h"
#include "net/http/waiting_request.h"
#include "protocol/http/request_parser.h"
#include "runtime/loop/coroutine_pool.h"
#include "runtime/socket/byte_stream.h"

namespace net {

class HttpConnection final : public runtime::Work,
                             private EvictionCandidate,
                             private runtime::ParkedHandler,
                             private WaitingRequest::User,
                             private Http2Session::User {
  public:
    HttpConnection(HttpServer& server, const HttpRouter& router, std::unique_ptr<runtime::ByteStream> stream,
                   std::shared_ptr<runtime::TlsContext> tls);
    ~HttpConnection();

    // The coroutine that serves it; empty: none does.
    const runtime::Task& task() const { return task_; }
    // It ends soon. Never yields, nor destroys it.
    void cancel(std::string_view why, base::CloseReason reason);
    // Of HTTP/2: with its last stream.
    void close_if_idle();
    // Adds the coroutines that end because the connection was cancelled. False: there are none.
    bool add_tasks(std::vector<runtime::Task>& tasks);
    // While no coroutine serves it. Destroys it.
    void finish();
    // While it is idle, which is while it waits for its next request.
    runtime::Deadline idle_until() const;
    void close_as_idle();
    // For a connection beyond max_connections, which counts for no limit; see HttpServerOptions::reserve.
    void enter_reserve();
    // It may be closed to make room for others until its request has arrived.
    void await_request();
    // A request that was deferred gets its late answer, the last one of the connection. Not one of a route that still
    // serves its clients while the server drains, unless the server stops.
    void end_wait(bool stops);

    size_t index = 0;  // in the server's list

  private:
    class HttpSession;
    enum class Next : uint8_t { kRequest, kRest, kClose };

    void work(const runtime::Task& task) override;
    void on_readable() override;
    void on_writable() override;
    void on_hangup() override;
    void wake();
    // ---- HTTP/2 (http_connection_http2.cpp)
    void begin_http2();
    void run_http2();
    void update_traffic();
    void refresh_options();
    Http2Session::Limits http2_limits() const;
    base::Result<void> answer(HttpResponse& response, HttpRequest& request,
                              std::optional<HttpRouter::Match> match) override;
    const HttpRouter& router() const override { return dispatch_.router(); }
    void complete(HttpRequest& request) override;
    bool may_be_served(const http::Request& message) override;
    base::Result<void> admit() override;
    void on_streams(size_t count) override;
    base::Result<void> on_unfinished_input(size_t bytes) override;
    void post() override { server_.pool_.give(*this); }
    void on_end(std::string why, base::CloseReason reason) override;
    // ---- A request that was deferred (http_connection_waiting.cpp)
    void on_answer() override;
    void on_write_timeout() override;
    Next defer(HttpResponse& response, const HttpRequest& request);
    void read_early();
    void send_answer();
    void end_answer();
    Next serve();
    base::Result<void> handshake();
    // Reads, routes and answers one request.
    Next serve_one();
    http::RequestParser::Step feed_unread(http::RequestParser& parser);
    base::Result<void> count_body(http::RequestParser& parser);
    base::Result<void> drain_body(http::RequestParser& parser);
    base::Result<void> count_input();
    base::Result<http::RequestParser::Step> read_more(http::RequestParser& parser, runtime::Deadline deadline);
    // False: it has not come yet.
    base::Result<bool> take_first_byte();
    bool is_idle() const { return unlisted_.empty(); }
    void become_idle();
    void end_idle();
    base::Result<bool> read_head(http::RequestParser& parser);
    // route: null: there is none.
    base::Result<bool> read_body(http::RequestParser& parser, const HttpRoute* route);
    void refuse_request(int status, std::string_view text);
    void send_refusal(int status, std::string_view text);
    void evict() override;
    Http1Response::Server shared_parts() const { return {server_.opened_files_, server_.sessions_.deferred()}; }
    bool may_use_reserve(const http::Request& message);
    void leave_reserve();
    HttpDispatch::Phase phase() const;
    Next end(std::string why, base::CloseReason reason);
    Next end(const base::Error& error) { return end(error.text(), error.close_reason()); }

    HttpServer& server_;
    HttpDispatch dispatch_;
    HttpTransport transport_;
    std::shared_ptr<runtime::TlsContext> tls_;
    std::shared_ptr<const HttpServerOptions> options_;
    runtime::Task task_;
    std::string id_;
    std::string peer_ip_;
    std::string why_;
    base::CloseReason reason_ = base::CloseReason::kUnknown;
    std::string last_target_;
    std::string last_answer_;  // "GET 404"; empty: there is none yet
    std::unique_ptr<WaitingRequest> waiting_;
    std::unique_ptr<Http2Session> http2_;
    runtime::Deadline first_deadline_;
    uint32_t served_ = 0;
    uint32_t body_memory_ = 0;             // bytes of allocations, of the body that is being read
    const HttpRoute* drain_ = nullptr;     // whose route takes that body; null: it is kept
    size_t drained_ = 0;                   // bytes of it that the route was told of
    std::list<HttpConnection*> unlisted_;  // one node: it is in the server's list while the connection is idle
    const std::list<HttpConnection*>::iterator node_;
    runtime::Deadline idle_since_ = runtime::Deadline::never();
    bool parked_ = false;  // the stream; no coroutine serves it, nor will before there is input
    bool in_reserve_ = false;
    bool has_early_input_ = false;  // some was not read while a request was waiting
    bool closes_gently_ = false;    // the last answer has been sent
    bool late_;                     // it was accepted after the server had stopped accepting new clients
};

// Sends 503 or 429 and closes gracefully.
void refuse_connection(runtime::ByteStream& stream, const HttpResponseOptions& options, int status);

}  // namespace net
