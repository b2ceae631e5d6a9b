#pragma once
// A response over HTTP/1.1 and 1.0. Without a length its body is chunked, or, for HTTP/1.0, ends with the connection.

#include <cstdint>
#include <memory>
#include <vector>

#include "net/http/http_exchange.h"
#include "net/sessions/session.h"
#include "runtime/socket/byte_stream.h"

namespace net {

// The state of a connection, which a response may detach.
struct HttpTransport {
    bool no_delay = false;  // current setting of the stream
    std::unique_ptr<runtime::ByteStream> stream;
    std::unique_ptr<Session> session;
    std::vector<uint8_t> unread;  // bytes after the current request: pipelined requests, WebSocket frames
    uint64_t received_bytes = 0;
    uint64_t sent_bytes = 0;

    // Otherwise the last of several writes would wait for an acknowledgement that is delayed by 40 ms.
    void send_at_once();
};

class Http1Response final : public HttpResponse {
  public:
    Http1Response(HttpTransport& transport, const Server& server, const HttpRequest& request,
                  const HttpResponseOptions& options, bool keep_alive)
        : HttpResponse(server, request, options, keep_alive), transport_(transport) {}
    using HttpResponse::Server;

    runtime::ByteStream* client() const override { return transport_.stream.get(); }
    base::Result<Detached> upgrade() override;

  private:
    base::Result<void> put_whole(const Head& head, std::span<const uint8_t> body) override;
    base::Result<void> put_files(const Head& head, FileParts parts, std::function<void(size_t)> sent) override;
    base::Result<void> put_head(const Head& head) override;
    base::Result<void> put_body(std::span<const uint8_t> bytes) override;
    base::Result<void> put_end() override;
    base::Result<Detached> put_detached(const Head& head) override;

    std::string head_text(const Head& head) const;
    base::Result<void> write_parts(std::string_view a, std::span<const uint8_t> b, std::string_view c);
    Detached take_transport(std::string first);

    HttpTransport& transport_;
    bool chunked_ = false;
};

}  // namespace net
