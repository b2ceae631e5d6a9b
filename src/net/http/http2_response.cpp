#include "net/http/http2_response.h"

#include <utility>

#include "base/clock.h"
#include "net/http/http1_head.h"
#include "net/http/http2_session.h"

namespace net {

using runtime::Deadline;

base::Result<void> Http2Response::send_head(const Head& head, bool has_body) {
    return stream_.send_head({head.status, head.content_type, head.length, crossdomain(), has_body},
                             {headers().begin(), headers().end()});
}

base::Result<void> Http2Response::put_whole(const Head& head, std::span<const uint8_t> body) {
    TRY(send_head(head, !body.empty()));
    if (body.empty()) return {};
    const iovec part{const_cast<uint8_t*>(body.data()), body.size()};
    return stream_.send(std::span(&part, 1), Deadline::in_ms(options().write_timeout_ms), true);
}

base::Result<void> Http2Response::put_files(const Head& head, FileParts parts, std::function<void(size_t)> sent) {
    TRY(send_head(head, !parts.empty()));
    if (parts.empty()) return {};
    FileBody body(*body_, options().write_timeout_ms, std::move(sent));
    TRY(body.send({}, std::move(parts)));
    stream_.finish();
    return {};
}

base::Result<void> Http2Response::put_head(const Head& head) {
    TRY(send_head(head, head.length.value_or(1) > 0 && !request().is_head()));
    stream_.session().pump();
    return {};
}

base::Result<void> Http2Response::put_body(std::span<const uint8_t> bytes) {
    return body_->write(bytes, Deadline::in_ms(options().write_timeout_ms));
}

base::Result<void> Http2Response::put_end() {
    stream_.finish();
    return {};
}

// The viewer is a session of its own beside the connection's, and counts as a connection.
base::Result<HttpResponse::Detached> Http2Response::put_detached(const Head& head) {
    TRY(stream_.session().admit());
    TRY(send_head(head, true));
    stream_.session().pump();
    return Detached{std::move(body_), {}, {}, Session::Past{base::wall_ms(), {}}};
}

base::Result<HttpResponse::Detached> Http2Response::upgrade() {
    return base::fail(base::Code::kProtocol, "HTTP/2 cannot change to another protocol");
}

}  // namespace net
