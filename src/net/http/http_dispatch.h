#pragma once
// HttpDispatch: what is done with a request that has arrived, whatever the transport: its routes' handlers are asked,
// OPTIONS and unknown paths answered, failures told to the client and to the log.

#include <optional>
#include <string_view>

#include "net/http/http_exchange.h"
#include "net/http/http_router.h"
#include "runtime/loop/log_limit.h"

namespace net {

class HttpDispatch {
  public:
    // The logs of one server: of requests that cannot be served, and of handlers that failed.
    struct Logs {
        runtime::LogLimit refusals{}, failures{};
    };
    HttpDispatch(const HttpRouter& router, Logs& logs) : router_(router), logs_(logs) {}

    // Of the server when a request comes.
    enum class Phase : uint8_t {
        kServes,
        kEnds,       // it drains, so that only routes which still serve their clients do
        kGivenOver,  // another process serves new connections
    };

    const HttpRouter& router() const { return router_; }
    Logs& logs() { return logs_; }
    // An error: the response broke off, or its handler failed; the client was told, if possible. Yields.
    base::Result<void> answer(HttpResponse& response, HttpRequest& request, std::optional<HttpRouter::Match> match,
                              Phase phase);

    // Of a server that is given over: the client asks again by another connection, which the other process accepts.
    static base::Result<void> send_elsewhere(HttpResponse& response, const HttpRequest& request);

  private:
    base::Result<void> dispatch(HttpResponse& response, HttpRequest& request, std::optional<HttpRouter::Match> match,
                                Phase phase);
    base::Result<void> answer_missing(HttpResponse& response, const HttpRequest& request, Phase phase);
    base::Result<void> answer_options(HttpResponse& response, const HttpRequest& request);
    void tell_failure(HttpResponse& response, const HttpRequest& request, const base::Error& error);

    const HttpRouter& router_;
    Logs& logs_;
};

}  // namespace net
