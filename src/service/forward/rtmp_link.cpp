#include "service/forward/rtmp_link.h"

#include <openssl/rand.h>

#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "convert/flv/to_rtmp.h"
#include "protocol/rtmp/handshake.h"
#include "protocol/rtmp/server_session.h"
#include "runtime/socket/tcp.h"

namespace service::forward {

using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

void fill_random(std::span<uint8_t> bytes) { CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1); }

uint32_t now_ms() { return static_cast<uint32_t>(base::monotonic_ms()); }

}  // namespace

RtmpLink::RtmpLink(PushRequest request, ::rtmp::Url url) : request_(std::move(request)), url_(std::move(url)) {}

Result<PushLink::Ready> RtmpLink::begin(Deadline limit) {
    auto socket = TRY(connect(limit));
    socket->set_no_delay(true);
    TRY(handshake(*socket, limit));
    if (auto asked = ask(*socket, limit); !asked) {
        is_loop_ = asked.error().text().find(::rtmp::kForwardLoop) != std::string::npos;
        return std::unexpected(std::move(asked.error()));
    }
    const convert::RtmpParameters parameters{
        .stream_id = session_->stream_id(), .all_tracks = session_->peer_multitrack(), .publish = true};
    return Ready{.key = parameters.key(), .socket = std::move(socket), .first_bytes = take_output()};
}

Result<std::unique_ptr<runtime::ByteStream>> RtmpLink::connect(Deadline limit) {
    auto socket = TRY(runtime::connect_tcp(url_.host, url_.port, limit));
    if (!url_.tls) return socket;
    auto context = TRY(request_.tls());
    return TRY(runtime::tls_connect(std::move(socket), std::move(context), url_.host, limit), "TLS handshake");
}

Result<void> RtmpLink::handshake(runtime::ByteStream& socket, Deadline limit) {
    ::rtmp::ClientHandshake handshake(fill_random, true);
    std::vector<uint8_t> out;
    handshake.start(now_ms(), out);
    while (true) {
        TRY(socket.write(out, limit), "handshake");
        if (handshake.done()) return {};
        socket.acknowledge_soon();
        auto bytes = TRY(runtime::read_shared(socket, limit), "handshake");
        if (bytes.empty()) return fail(Code::kClosed, "closed by the peer in the handshake");
        out.clear();
        size_t taken = TRY(handshake.feed(bytes, now_ms(), out), "handshake");
        // Servers send nothing after the handshake until they have received connect.
        if (taken < bytes.size()) return fail(Code::kProtocol, "the peer said more than the handshake");
    }
}

Result<void> RtmpLink::ask(runtime::ByteStream& socket, Deadline limit) {
    ::rtmp::ClientOptions options;
    options.publish = true;
    options.forward_path = request_.path;
    session_ = std::make_unique<::rtmp::ClientSession>(static_cast<::rtmp::ClientHandler&>(*this), url_, options,
                                                       1 + 2 * ::rtmp::kHandshakeSize);
    session_->start();
    while (!session_->ready()) {
        std::vector<uint8_t> out = std::exchange(session_->output(), {});
        if (!out.empty()) TRY(socket.write(out, limit), "asking to publish");
        socket.acknowledge_soon();
        auto bytes = TRY(runtime::read_shared(socket, limit), "asking to publish");
        if (bytes.empty()) return fail(Code::kClosed, "closed by the peer when asked to publish");
        TRY(session_->feed(bytes));
    }
    return {};
}

base::Slice RtmpLink::take_output() { return base::Slice::copy(std::exchange(session_->output(), {})); }

void RtmpLink::on_status(std::string_view code, std::string_view description) {
    base::log::info("forward: {}:{} says {} ({})", url_.host, url_.port, code, description);
}

}  // namespace service::forward
