#include "service/rtmp/service.h"

namespace service::rtmp {

using base::Result;

Service::Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry, net::Gate& gate,
                 const Offers* offers)
    : snapshot_(std::move(snapshot)),
      sessions_(sessions),
      registry_(registry),
      gate_(gate),
      offers_(offers),
      listeners_(sessions, "RTMP connection", "rtmp-accept",
                 [this](auto socket, auto tls) { accept(std::move(socket), std::move(tls)); }) {}

Service::~Service() { stop(); }

Result<void> Service::start() {
    TRY(listeners_.open(snapshot_->rtmp.listen, "RTMP", nullptr), "rtmp.listen");
    if (!snapshot_->rtmps.enabled) return {};
    TRY(tls_pair_.load(snapshot_->rtmps.cert, snapshot_->rtmps.key));
    return listeners_.open(snapshot_->rtmps.listen, "RTMPS", &tls_pair_);
}

void Service::accept(std::unique_ptr<runtime::ByteStream> socket, net::TlsPair::Context tls, Peer peer) {
    connections_.start(std::make_unique<Connection>(*this, std::move(socket), std::move(tls), peer));
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

void Service::stop() {
    stop_accepting();
    connections_.close_all();
}

}  // namespace service::rtmp
