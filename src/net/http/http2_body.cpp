#include "net/http/http2_body.h"

#include <utility>

#include "net/http/http2_session.h"
#include "net/http/http2_stream.h"

namespace net {

using base::Code;
using runtime::Deadline;

Http2Body::Http2Body(Http2Stream& stream)
    : stream_(&stream), ip_(stream.session().stream().peer_ip()), address_(stream.session().stream().peer_address()) {
    stream.set_body(this);
}

Http2Body::~Http2Body() {
    if (stream_) stream_->on_body_dropped();
}

base::Error Http2Body::gone() { return base::Error(Code::kClosed, "the peer closed the stream"); }

// A request's body has been read before.
base::Result<size_t> Http2Body::read(std::span<uint8_t>, Deadline) {
    return base::fail(Code::kOther, "the body of a response is only written");
}

base::Result<runtime::ByteStream::TryRead> Http2Body::try_read(std::span<uint8_t>) {
    return TryRead{0, stream_ == nullptr};
}

base::Result<void> Http2Body::write(std::span<const uint8_t> bytes, Deadline deadline) {
    const iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
    if (!stream_) return std::unexpected(gone());
    return stream_->send(std::span(&part, 1), deadline);
}

base::Result<void> Http2Body::writev(std::span<iovec> parts, Deadline deadline) {
    if (!stream_) return std::unexpected(gone());
    return stream_->send(parts, deadline);
}

base::Result<size_t> Http2Body::try_write(std::span<const uint8_t> bytes) {
    const iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
    return try_writev(std::span(&part, 1));
}

base::Result<size_t> Http2Body::try_writev(std::span<const iovec> parts) {
    if (!stream_) return std::unexpected(gone());
    return stream_->try_send(parts);
}

base::Result<void> Http2Body::await_writable(Deadline deadline, size_t) {
    if (!stream_) return std::unexpected(gone());
    TRY(stream_->await_room(deadline));
    return slice_.step();
}

void Http2Body::park(runtime::ParkedHandler& handler) {
    handler_ = &handler;
    if (stream_ && stream_->is_closed()) stream_->session().note(*stream_);
}

bool Http2Body::peer_gone() const {
    return !stream_ || stream_->is_closed() || stream_->session().stream().peer_gone();
}

void Http2Body::cancel_at_end(bool on) {
    if (stream_) stream_->cancel_at_end(on);
}

void Http2Body::shutdown_write() {
    if (stream_) stream_->finish();
}

base::Result<uint64_t> Http2Body::try_finish() {
    if (!stream_) return 0;
    stream_->finish();
    return stream_ && !stream_->is_closed() ? 1 : 0;
}

base::Result<void> Http2Body::finish(Deadline) {
    shutdown_write();
    return {};
}

void Http2Body::on_room() {
    if (handler_) handler_->on_writable();
}

void Http2Body::on_closed(bool is_finished) {
    stream_ = nullptr;
    if (handler_ && !is_finished) handler_->on_hangup();
}

}  // namespace net
