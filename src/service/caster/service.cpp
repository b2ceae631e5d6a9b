#include "service/caster/service.h"

#include <utility>

#include "base/log.h"
#include "runtime/loop/clock.h"
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
    wanted.udp = TRY(udp_ports_.wanted(*this, casters));
    wanted.tcp = TRY(tcp_ports_.wanted(*this, casters));
    wanted.gb_udp = TRY(gb_udp_ports_.wanted(*this, casters));
    return wanted;
}

void Service::use(Wanted wanted) {
    udp_ports_.use(std::move(wanted.udp));
    tcp_ports_.use(std::move(wanted.tcp));
    gb_udp_ports_.use(std::move(wanted.gb_udp));
}

Result<std::move_only_function<void()>> Service::prepare(const config::SnapshotPtr& next) {
    Wanted wanted;
    if (started_) wanted = TRY(wanted_ports(*next));
    return [this, next, wanted = std::move(wanted)]() mutable {
        snapshot_ = next;
        if (started_) use(std::move(wanted));
    };
}

Result<void> Service::check(const config::SnapshotPtr& next) const {
    if (!started_) return {};
    const auto& casters = next->get<Casters>();
    TRY(udp_ports_.check(casters));
    TRY(tcp_ports_.check(casters));
    return gb_udp_ports_.check(casters);
}

void Service::accept(const TcpPort& port, std::unique_ptr<runtime::ByteStream> socket) {
    if (port.kind() == Kind::kFlv)
        return posts_.start(std::make_unique<FlvConnection>(*this, std::move(socket), port.output()));
    cameras_.start(std::make_unique<GbSession>(*this, std::move(socket), port.media_connect_ms()));
}

Result<void> Service::announce(GbChannel channel) {
    TRY(channels_.reserve(std::move(channel)));
    if (!expiry_) expiry_ = runtime::spawn("gb28181-channels", [this] { expire_channels(); });
    return {};
}

// A coroutine's body: releases what no camera came for, while there is anything that waits.
void Service::expire_channels() {
    constexpr int64_t kEveryMs = 500;
    while (channels_.waiting() > 0 && runtime::sleep_ms(kEveryMs))
        while (const auto expired = channels_.take_expired(runtime::now_us()))
            base::log::trace("GB28181: no camera came for stream {} of SSRC {} in time", expired->id, expired->ssrc);
    if (!runtime::cancelled()) expiry_ = {};
}

void Service::stop_accepting() {
    udp_ports_.stop_accepting();
    tcp_ports_.stop_accepting();
    gb_udp_ports_.stop_accepting();
}

void Service::give_over(bool on) {
    if (!on) return;
    for (const auto& port : udp_ports_.all()) port->give_over();
}

void Service::stop() {
    stop_accepting();
    started_ = false;
    encoders_.close_all();
    posts_.close_all();
    cameras_.close_all();
    if (expiry_) expiry_.cancel_and_join();
    udp_ports_.clear();
    tcp_ports_.clear();
    gb_udp_ports_.clear();
}

}  // namespace service::caster
