#include "service/caster/service.h"

#include <algorithm>
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

Result<std::vector<Service::Wanted>> Service::wanted_ports(const config::Snapshot& next) {
    std::vector<Wanted> wanted;
    for (const Caster& caster : next.get<Casters>().all) {
        if (!caster.takes_udp()) continue;
        for (const config::ListenAddress& address : caster.listen) {
            const auto same =
                std::ranges::find_if(ports_, [&](const auto& port) { return port->is_for(caster, address); });
            Wanted& port = wanted.emplace_back();
            port.output = caster.output;
            if (same != ports_.end())
                port.present = same->get();
            else
                port.opened = TRY(UdpPort::open(*this, caster, address), "stream_caster.listen");
        }
    }
    return wanted;
}

void Service::use(std::vector<Wanted> wanted) {
    std::vector<std::unique_ptr<UdpPort>> before = std::exchange(ports_, {});
    for (Wanted& port : wanted) {
        if (port.opened) {
            ports_.push_back(std::move(port.opened));
            continue;
        }
        const auto kept = std::ranges::find(before, port.present, &std::unique_ptr<UdpPort>::get);
        (*kept)->set_output(port.output);
        ports_.push_back(std::move(*kept));
    }
    std::erase(before, nullptr);
    if (before.empty()) return;
    // To close a port yields.
    for (auto& port : before) port->stop_accepting();
    runtime::spawn("caster-close", [before = std::move(before)]() mutable { before.clear(); });
}

Result<std::move_only_function<void()>> Service::prepare(const config::SnapshotPtr& next) {
    std::vector<Wanted> wanted;
    if (started_) wanted = TRY(wanted_ports(*next));
    return [this, next, wanted = std::move(wanted)]() mutable {
        snapshot_ = next;
        if (started_) use(std::move(wanted));
    };
}

void Service::stop_accepting() {
    for (auto& port : ports_) port->stop_accepting();
}

void Service::stop() {
    stop_accepting();
    started_ = false;
    encoders_.close_all();
    ports_.clear();
}

}  // namespace service::caster
