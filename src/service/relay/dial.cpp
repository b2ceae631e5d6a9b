#include "service/relay/dial.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/clock.h"
#include "runtime/loop/random.h"
#include "runtime/socket/tcp.h"

namespace service::relay {

using base::Code;
using base::fail;
using base::Result;
using runtime::ByteStream;
using runtime::Deadline;

namespace {

uint32_t now_ms() { return static_cast<uint32_t>(base::monotonic_ms()); }

}  // namespace

Result<void> shake_hands(ByteStream& socket, Deadline limit) {
    ::rtmp::ClientHandshake handshake(runtime::fill_secret, true);
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

Result<std::unique_ptr<ByteStream>> dial(const std::string& host, uint16_t port, ClientTls* tls, Deadline connect_limit,
                                         Deadline limit) {
    auto socket = TRY(runtime::connect_tcp(host, port, earlier(connect_limit, limit)));
    if (tls) {
        auto context = TRY(tls->context());
        socket = TRY(runtime::tls_connect(std::move(socket), std::move(context), host, limit), "TLS handshake");
    }
    socket->set_no_delay(true);
    return socket;
}

Result<std::unique_ptr<ByteStream>> dial_rtmp(const ::rtmp::Url& url, ClientTls& tls, Deadline connect_limit,
                                              Deadline limit) {
    auto socket = TRY(dial(url.host, url.port, url.tls ? &tls : nullptr, connect_limit, limit));
    TRY(shake_hands(*socket, limit));
    return socket;
}

Result<void> await_ready(::rtmp::ClientSession& session, ByteStream& socket, std::string_view doing, Deadline limit) {
    session.start();
    while (!session.ready()) {
        std::vector<uint8_t> out = std::exchange(session.output(), {});
        if (!out.empty()) TRY(socket.write(out, limit), doing);
        socket.acknowledge_soon();
        auto bytes = TRY(runtime::read_shared(socket, limit), doing);
        if (bytes.empty()) return fail(Code::kClosed, fmt::format("closed by the peer when {}", doing));
        TRY(session.feed(bytes));
    }
    return {};
}

}  // namespace service::relay
