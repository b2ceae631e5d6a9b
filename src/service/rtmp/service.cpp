#include "service/rtmp/service.h"

#include "base/log.h"

namespace service::rtmp {

using base::Result;
using runtime::Deadline;

Service::Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry, net::Gate& gate)
    : snapshot_(std::move(snapshot)), sessions_(sessions), registry_(registry), gate_(gate) {}

Service::~Service() { stop(); }

Result<void> Service::start() {
    TRY(listen(snapshot_->rtmp.listen, nullptr), "rtmp.listen");
    if (!snapshot_->rtmps.enabled) return {};
    TRY(tls_pair_.load(snapshot_->rtmps.cert, snapshot_->rtmps.key));
    return listen(snapshot_->rtmps.listen, &tls_pair_);
}

Result<void> Service::listen(const config::ListenAddresses& addresses, const net::TlsPair* tls) {
    for (const config::ListenAddress& address : addresses) {
        net::Acceptor::Handlers handlers;
        handlers.take = [this, tls](std::unique_ptr<runtime::ByteStream> socket) {
            take(std::move(socket), net::TlsPair::context_of(tls));
        };
        net::Acceptor& acceptor = *listeners_.emplace_back(
            std::make_unique<net::Acceptor>(sessions_, "RTMP connection", "rtmp-accept", std::move(handlers)));
        TRY(acceptor.listen({address.host, address.port, address.ipv6_only}));
        base::log::trace("{} listens on {}", tls ? "RTMPS" : "RTMP", address.text());
    }
    return {};
}

void Service::take(std::unique_ptr<runtime::ByteStream> socket, net::TlsPair::Context tls) {
    empty_.reset();
    Connection& connection = connections_.add(std::make_unique<Connection>(*this, std::move(socket), std::move(tls)));
    if (!connection.start()) remove(connection);
}

void Service::remove(Connection& connection) {
    connections_.remove(connection);
    if (connections_.empty()) empty_.set();
}

Result<std::move_only_function<void()>> Service::prepare(const config::SnapshotPtr& next) {
    auto tls = TRY(tls_pair_.prepare(next->rtmps.cert, next->rtmps.key));
    return [this, next, tls = std::move(tls)] {
        reload(next);
        tls_pair_.adopt(tls);
    };
}

void Service::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    registry_.for_each([&next](live::Stream& stream) {
        if (const config::Vhost* vhost = next->vhost(stream.key().vhost))
            stream.set_options(live::live_options(*vhost));
    });
}

void Service::stop_accepting() {
    for (auto& listener : listeners_) listener->stop();
    listeners_.clear();
}

void Service::stop() {
    stop_accepting();
    for (auto& connection : connections_) connection->close("the server stops", base::CloseReason::kServerStop);
    while (!connections_.empty()) {
        if (!empty_.wait(Deadline::in_ms(1000))) {
            // A connection changed from viewer to coroutine meanwhile, or this coroutine was cancelled and must not
            // return yet.
            for (auto& connection : connections_) connection->close("the server stops", base::CloseReason::kServerStop);
            if (runtime::cancelled()) break;
        }
    }
}

}  // namespace service::rtmp
