#include "load/http_requests.h"

#include "load/http1_requests.h"
#include "load/http2_requests.h"
#include "runtime/socket/tcp.h"

namespace load {

base::Result<std::unique_ptr<HttpRequests>> connect_http(const Target& target,
                                                         const std::shared_ptr<runtime::TlsContext>& tls,
                                                         HttpRequests::User& user, Ledger& ledger,
                                                         runtime::Deadline deadline) {
    auto stream = TRY(runtime::connect_tcp(target.host, target.port, deadline));
    if (target.scheme == Scheme::kHttp) return std::make_unique<Http1Requests>(target, std::move(stream), user, ledger);
    stream = TRY(runtime::tls_connect(std::move(stream), tls, target.host, deadline), "TLS handshake");
    if (stream->protocol() != "h2") return base::fail(base::Code::kProtocol, "the server has no HTTP/2");
    return std::make_unique<Http2Requests>(target, std::move(stream), user, ledger);
}

}  // namespace load
