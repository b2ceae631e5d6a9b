#include "net/http/http_dispatch.h"

#include "base/clock.h"
#include "base/log.h"
#include "protocol/http/url.h"

namespace net {

using base::Code;

base::Result<void> HttpDispatch::answer(HttpResponse& response, HttpRequest& request,
                                        std::optional<HttpRouter::Match> match, Phase phase) {
    const bool is_logged = base::log::enabled(base::log::Level::kInfo);
    const int64_t began_ms = is_logged ? base::monotonic_ms() : 0;
    auto result = dispatch(response, request, std::move(match), phase);
    if (result && !response.detached() && !response.deferral()) result = response.end();
    if (!result) {
        base::log::info("HTTP {} {}: {}", http::method_name(request.message.method), request.message.target,
                        result.error().describe());
        if (!response.started() && result.error().code() != Code::kCancelled)
            tell_failure(response, request, result.error());
    }
    if (is_logged && !response.deferral())
        base::log::info("HTTP {} {} -> {}, {} bytes in {} ms", http::method_name(request.message.method),
                        request.message.target, response.status(), response.body_bytes(),
                        base::monotonic_ms() - began_ms);
    return result;
}

// An overload, or a fault in the handler; if the connection broke, this fails too.
void HttpDispatch::tell_failure(HttpResponse& response, const HttpRequest& request, const base::Error& error) {
    response.close_after();
    if (error.code() == Code::kLimit) {
        runtime::warn_some(logs_.failures, "HTTP {}: {}", request.message.target, error.describe());
        response.header("Retry-After", "5").header("Cache-Control", "no-store");
        (void)response.send_error(503, "too much at once");
        return;
    }
    runtime::error_some(logs_.failures, "HTTP {} failed: {}", request.message.target, error.describe());
    (void)response.send_error(500);
}

base::Result<void> HttpDispatch::dispatch(HttpResponse& response, HttpRequest& request,
                                          std::optional<HttpRouter::Match> match, Phase phase) {
    const http::Request& message = request.message;
    const bool has_route = match.has_value();
    for (; match; match = router_.match(message.method, message.path, match->next)) {
        if (phase == Phase::kEnds && !match->route->still_served) continue;
        request.captures = std::move(match->captures);
        TRY(match->route->handler(request, response));
        if (response.deferral()) response.deferral()->route = match->route;
        if (response.started()) return {};
    }
    if (phase == Phase::kEnds) {
        response.header("Retry-After", "5").header("Cache-Control", "no-store");
        return response.send_error(503, "the server ends");
    }
    if (message.method == http::Method::kOptions) return answer_options(response, request);
    if (has_route) return answer_missing(response, request, phase);
    const auto methods = router_.methods_of(message.path);
    if (methods.empty()) return response.send_error(404);
    response.header("Allow", allow_list(methods));
    return response.send_error(405);
}

// What came since then is with the other process, which the client finds by another connection.
base::Result<void> HttpDispatch::answer_missing(HttpResponse& response, const HttpRequest& request, Phase phase) {
    const http::Request& message = request.message;
    const bool is_get = message.method == http::Method::kGet || message.method == http::Method::kHead;
    if (phase != Phase::kGivenOver || !is_get || request.is_of_other_process) return response.send_error(404);
    return send_elsewhere(response, request);
}

base::Result<void> HttpDispatch::send_elsewhere(HttpResponse& response, const HttpRequest& request) {
    const http::Request& message = request.message;
    response.header("Cache-Control", "no-store").close_after();
    // A relative one (RFC 3986, section 4.2), which holds behind a proxy that serves a part of its paths here.
    const std::string file = "./" + message.raw_path.substr(http::directory_of(message.raw_path).size());
    return response.redirect(307, message.raw_query.empty() ? file : file + "?" + message.raw_query);
}

base::Result<void> HttpDispatch::answer_options(HttpResponse& response, const HttpRequest& request) {
    const auto methods = router_.methods_of(request.message.path);
    if (methods.empty() && request.message.path != "*") return response.send_error(404);
    response.header("Allow", allow_list(methods));
    if (response.options().crossdomain) {
        // Any requested header is allowed: nothing here depends on cookies.
        std::string_view asked = request.message.headers.get("Access-Control-Request-Headers");
        response.header("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS");
        response.header("Access-Control-Allow-Headers", asked.empty() ? "*" : asked);
        response.header("Access-Control-Max-Age", "86400");
    }
    return response.send(204, {}, {});
}

}  // namespace net
