#include "service/caster/service.h"

#include <utility>

#include "service/caster/config.h"

namespace service::caster {

using base::Result;

Service::Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry, net::Gate& gate)
    : snapshot_(std::move(snapshot)), sessions_(sessions), registry_(registry), gate_(gate) {}

Service::~Service() { stop(); }

Result<void> Service::start() {
    use(TRY(wanted_ports(*snapshot_)));
    started_ = true;
    return {};
}

Result<Service::Wanted> Service::wanted_ports(const config::Snapshot& next) {
    const auto& casters = next.get<Casters>();
    Wanted wanted;
    wanted.udp =
        TRY(udp_ports_.wanted(*this, casters, [](const Caster& c) { return c.kind() == Kind::kMpegtsOverUdp; }));
    wanted.tcp = TRY(tcp_ports_.wanted(*this, casters, [](const Caster& c) { return c.kind() == Kind::kFlv; }));
    return wanted;
}

void Service::use(Wanted wanted) {
    udp_ports_.use(std::move(wanted.udp));
    tcp_ports_.use(std::move(wanted.tcp));
}

Result<std::move_only_function<void()>> Service::prepare(const config::SnapshotPtr& next) {
    Wanted wanted;
    if (started_) wanted = TRY(wanted_ports(*next));
    return [this, next, wanted = std::move(wanted)]() mutable {
        snapshot_ = next;
        if (started_) use(std::move(wanted));
    };
}

void Service::accept(const TcpPort& port, std::unique_ptr<runtime::ByteStream> socket) {
    posts_.start(std::make_unique<FlvConnection>(*this, std::move(socket), port.output()));
}

void Service::stop_accepting() {
    udp_ports_.stop_accepting();
    tcp_ports_.stop_accepting();
}

void Service::stop() {
    stop_accepting();
    started_ = false;
    encoders_.close_all();
    posts_.close_all();
    udp_ports_.clear();
    tcp_ports_.clear();
}

}  // namespace service::caster
