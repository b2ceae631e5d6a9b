#pragma once
// A response over HTTP/2.

#include <functional>
#include <memory>

#include "net/http/http2_body.h"
#include "net/http/http2_stream.h"
#include "net/http/http_exchange.h"

namespace net {

class Http2Response final : public HttpResponse {
  public:
    using HttpResponse::Server;
    Http2Response(Http2Stream& stream, const Server& server, const HttpRequest& request,
                  const HttpResponseOptions& options)
        : HttpResponse(server, request, options, true), stream_(stream), body_(std::make_unique<Http2Body>(stream)) {}

    runtime::ByteStream* client() const override { return body_.get(); }
    base::Result<Detached> upgrade() override;

  private:
    base::Result<void> put_whole(const Head& head, std::span<const uint8_t> body) override;
    base::Result<void> put_files(const Head& head, FileParts parts, std::function<void(size_t)> sent) override;
    base::Result<void> put_head(const Head& head) override;
    base::Result<void> put_body(std::span<const uint8_t> bytes) override;
    base::Result<void> put_end() override;
    base::Result<Detached> put_detached(const Head& head) override;
    base::Result<void> send_head(const Head& head, bool has_body);

    Http2Stream& stream_;
    std::unique_ptr<Http2Body> body_;
};

}  // namespace net
