#pragma once
// HttpConnection: one client of an HttpServer, in its own coroutine, from the TLS handshake to the close. Private to
// HttpServer.

#include <memory>
#include <string>

#include "net/http/http_exchange.h"
#include "net/http/http_server.h"
#include "protocol/http/request_parser.h"
#include "runtime/loop/coroutine.h"

namespace net {

class HttpConnection final : private Spare {
  public:
    HttpConnection(HttpServer& server, const HttpRouter& router, std::unique_ptr<runtime::ByteStream> stream,
                   std::shared_ptr<runtime::TlsContext> tls);
    ~HttpConnection();

    void set_task(runtime::Task task) { task_ = std::move(task); }
    const runtime::Task& task() const { return task_; }
    void run();
    void cancel(std::string_view why, base::CloseReason reason);
    void close_if_idle();
    // For a connection beyond max_connections, which counts for no limit; see HttpServerOptions::reserve.
    void enter_reserve();
    // It may be closed to make room for others until its request has arrived.
    void await_request();

    size_t index = 0;  // in the server's list

  private:
    class HttpSession;
    enum class Next : uint8_t { kRequest, kClose };

    base::Result<void> handshake();
    // Reads, routes and answers one request.
    Next serve_one();
    base::Result<http::RequestParser::Step> next_step(runtime::Deadline deadline);
    base::Result<void> await_first_byte();
    base::Result<bool> read_head(runtime::Deadline deadline);
    base::Result<bool> read_body(size_t limit_bytes);
    void answer(HttpResponse& response, HttpRequest& request, const HttpRouter::Match& match);
    base::Result<void> dispatch(HttpResponse& response, HttpRequest& request, const HttpRouter::Match& match);
    base::Result<void> answer_options(HttpResponse& response, const HttpRequest& request,
                                      const HttpRouter::Match& match);
    void tell_failure(HttpResponse& response, const HttpRequest& request, const base::Error& error);
    void refuse_request(int status, std::string_view text);
    void make_room() override;
    bool may_be_served();
    void leave_reserve();
    Next end(std::string why, base::CloseReason reason);
    Next end(const base::Error& error) { return end(error.text(), error.close_reason()); }

    HttpServer& server_;
    const HttpRouter& router_;
    HttpTransport transport_;
    std::shared_ptr<runtime::TlsContext> tls_;
    std::shared_ptr<const HttpServerOptions> options_;
    runtime::Task task_;
    http::RequestParser parser_;
    std::string id_;
    std::string peer_ip_;
    std::string why_;
    base::CloseReason reason_ = base::CloseReason::kUnknown;
    std::string last_target_;
    runtime::Deadline first_deadline_;
    uint32_t served_ = 0;
    bool idle_ = false;
    bool in_reserve_ = false;
    bool late_;  // it was accepted after the server had stopped accepting new clients
};

// Sends 503 or 429 and closes gracefully.
void refuse_connection(runtime::ByteStream& stream, const HttpResponseOptions& options, int status);

}  // namespace net
