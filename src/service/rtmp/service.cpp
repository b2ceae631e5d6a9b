#include "service/rtmp/service.h"

#include "base/log.h"
#include "runtime/log_limit.h"

namespace service::rtmp {

using base::Result;
using runtime::Deadline;

Service::Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry, net::Gate& gate)
    : snapshot_(std::move(snapshot)), sessions_(sessions), registry_(registry), gate_(gate) {}

Service::~Service() { stop(); }

Result<void> Service::start() {
    TRY(listen(snapshot_->rtmp.listen, nullptr), "rtmp.listen");
    if (!snapshot_->rtmps.enabled) return {};
    auto tls = TRY(tls_pair_.load(snapshot_->rtmps.cert, snapshot_->rtmps.key));
    return listen(snapshot_->rtmps.listen, std::move(tls));
}

Result<void> Service::listen(const config::ListenAddresses& addresses, std::shared_ptr<runtime::TlsContext> tls) {
    for (const config::ListenAddress& address : addresses) {
        auto listener = std::make_unique<Listener>();
        listener->socket = TRY(runtime::listen_tcp({address.host, address.port}));
        listener->tls = tls;
        Listener& place = *listeners_.emplace_back(std::move(listener));
        place.acceptor = runtime::spawn("rtmp-accept", [this, &place] { accept_loop(place); });
        base::log::trace("{} listens on {}", tls ? "RTMPS" : "RTMP", address.text());
    }
    return {};
}

void Service::accept_loop(Listener& listener) {
    runtime::LogCondition failing;
    while (true) {
        auto socket = listener.socket->accept(Deadline::never());
        if (!socket) {
            if (socket.error().code() == base::Code::kCancelled) return;
            runtime::note_failure(failing, "RTMP accept", socket.error());
            // Most likely there are no descriptors left; trying again at once would only burn time.
            if (!runtime::sleep_ms(100)) return;
            continue;
        }
        runtime::note_success(failing, "RTMP accept");
        const std::string ip = (*socket)->peer_ip();
        auto admitted = sessions_.admit_connection(static_cast<size_t>(snapshot_->global.max_connections), ip);
        if (!admitted) {
            sessions_.log_refusal("RTMP", ip, admitted.error());
            continue;
        }
        empty_.reset();
        Connection& connection =
            *connections_.emplace_back(std::make_unique<Connection>(*this, *std::move(socket), listener.tls));
        connection.place = static_cast<uint32_t>(connections_.size()) - 1;
        connection.start();
    }
}

void Service::remove(Connection& connection) {
    uint32_t place = connection.place;
    CHECK(connections_[place].get() == &connection);
    std::unique_ptr<Connection> gone = std::move(connections_[place]);
    if (place + 1 != connections_.size()) {
        connections_[place] = std::move(connections_.back());
        connections_[place]->place = place;
    }
    connections_.pop_back();
    gone.reset();
    if (connections_.empty()) empty_.set();
}

Result<std::move_only_function<void()>> Service::prepare(const config::SnapshotPtr& next) {
    auto tls = TRY(tls_pair_.prepare(next->rtmps.cert, next->rtmps.key));
    return [this, next, tls = std::move(tls)] {
        reload(next);
        if (!tls) return;
        tls_pair_.adopt(*tls);
        for (auto& listener : listeners_)
            if (listener->tls) listener->tls = tls;
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
    for (auto& listener : listeners_)
        if (listener->acceptor) listener->acceptor.cancel_and_join();
    listeners_.clear();
}

void Service::stop() {
    stop_accepting();
    for (auto& connection : connections_) connection->close("the server stops", base::CloseReason::kServerStop);
    while (!connections_.empty()) {
        if (!empty_.wait(Deadline::in_ms(1000))) {
            // Somebody went from viewer to coroutine meanwhile, or we are cancelled ourselves and must not leave yet.
            for (auto& connection : connections_) connection->close("the server stops", base::CloseReason::kServerStop);
            if (runtime::cancelled()) break;
        }
    }
}

}  // namespace service::rtmp
