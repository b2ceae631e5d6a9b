#include "net/http/http1_response.h"

#include <utility>

#include "net/http/http1_head.h"
#include "protocol/http/response_head.h"

namespace net {

void HttpTransport::send_at_once() {
    if (!std::exchange(no_delay, true)) stream->set_no_delay(true);
}

std::string Http1Response::head_text(const Head& head) const {
    return write_http1_head({.status = head.status,
                             .content_type = head.content_type,
                             .length = head.length,
                             .chunked = chunked_,
                             .keep_alive = keep_alive(),
                             .crossdomain = crossdomain(),
                             .server_name = options().server_name},
                            {headers().begin(), headers().end()});
}

base::Result<void> Http1Response::write_parts(std::string_view a, std::span<const uint8_t> b, std::string_view c) {
    iovec parts[3];
    size_t count = 0;
    size_t bytes = 0;
    auto add = [&](const void* data, size_t size) {
        if (size) parts[count++] = {const_cast<void*>(data), size};
        bytes += size;
    };
    add(a.data(), a.size());
    add(b.data(), b.size());
    add(c.data(), c.size());
    TRY(transport_.stream->writev(std::span(parts, count), runtime::Deadline::in_ms(options().write_timeout_ms)));
    transport_.sent_bytes += bytes;
    return {};
}

base::Result<void> Http1Response::put_whole(const Head& head, std::span<const uint8_t> body) {
    return write_parts(head_text(head), body, {});
}

base::Result<void> Http1Response::put_files(const Head& head, FileParts parts, std::function<void(size_t)> sent) {
    transport_.send_at_once();
    const std::string text = head_text(head);
    FileBody body(*transport_.stream, options().write_timeout_ms, [this, &sent](size_t bytes) {
        sent(bytes);
        transport_.sent_bytes += bytes;
    });
    TRY(body.send(text, std::move(parts)));
    transport_.sent_bytes += text.size();
    return {};
}

base::Result<void> Http1Response::put_head(const Head& head) {
    if (!head.length) {
        chunked_ = request().message.minor_version >= 1;
        if (!chunked_) close_after();
    }
    transport_.send_at_once();
    return write_parts(head_text(head), {}, {});
}

base::Result<void> Http1Response::put_body(std::span<const uint8_t> bytes) {
    if (chunked_) return write_parts(http::chunk_prefix(bytes.size()), bytes, http::kChunkSuffix);
    return write_parts({}, bytes, {});
}

base::Result<void> Http1Response::put_end() {
    if (chunked_) return write_parts(http::kLastChunk, {}, {});
    return {};
}

HttpResponse::Detached Http1Response::take_transport(std::string first) {
    const Session::Past past = transport_.session->past();
    transport_.session.reset();
    if (std::exchange(transport_.no_delay, false)) transport_.stream->set_no_delay(false);
    return {std::move(transport_.stream), std::move(first), std::move(transport_.unread), past};
}

base::Result<HttpResponse::Detached> Http1Response::put_detached(const Head& head) {
    return take_transport(head_text(head));
}

base::Result<HttpResponse::Detached> Http1Response::upgrade() {
    mark_detached();
    return take_transport({});
}

}  // namespace net
