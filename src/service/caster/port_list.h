#pragma once
// PortList: the open ports of one kind, and how a configuration changes them: those that it still has stay open.
//
// Port: kSocketType; is_of(kind): whether a block of that kind has such ports; open(service, caster, address);
// is_for(caster, address): whether it is the port that the block asks for; update(caster): what else the block says;
// stop_accepting(). Closing one yields.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/tcp.h"
#include "service/caster/config.h"

namespace service::caster {

template <class Port>
class PortList {
  public:
    // A port of a configuration: one that is there, or a new one.
    struct Wanted {
        Port* present = nullptr;
        std::unique_ptr<Port> opened{};
        Caster caster{};
        config::ListenAddress address{};
    };

    // Opens those that are missing.
    template <class Service>
    base::Result<std::vector<Wanted>> wanted(Service& service, const Casters& casters) const {
        std::vector<Wanted> all = find(casters);
        for (Wanted& port : all)
            if (!port.present)
                port.opened = TRY(Port::open(service, port.caster, port.address), "stream_caster.listen");
        return all;
    }

    // Whether those that are missing could be opened: nothing is received by them. Groups are not joined.
    base::Result<void> check(const Casters& casters) const {
        for (const auto& [present, opened, caster, address] : find(casters))
            if (!present)
                TRY(runtime::try_to_bind({address.host, address.port, address.ipv6_only}, Port::kSocketType),
                    "stream_caster.listen");
        return {};
    }

    // Closes those that are not wanted, later.
    void use(std::vector<Wanted> all) {
        std::vector<std::unique_ptr<Port>> before = std::exchange(ports_, {});
        for (Wanted& port : all) {
            if (port.opened) {
                ports_.push_back(std::move(port.opened));
                continue;
            }
            const auto kept = std::ranges::find(before, port.present, &std::unique_ptr<Port>::get);
            (*kept)->update(port.caster);
            ports_.push_back(std::move(*kept));
        }
        std::erase(before, nullptr);
        if (before.empty()) return;
        runtime::spawn("caster-close", [before = std::move(before)]() mutable {
            for (auto& port : before) port->stop_accepting();
            before.clear();
        });
    }

    void stop_accepting() {
        for (auto& port : ports_) port->stop_accepting();
    }
    void clear() { ports_.clear(); }
    const std::vector<std::unique_ptr<Port>>& all() const { return ports_; }

  private:
    std::vector<Wanted> find(const Casters& casters) const {
        std::vector<Wanted> all;
        for (const Caster& caster : casters.all) {
            if (!Port::is_of(caster.kind())) continue;
            for (const config::ListenAddress& address : caster.listen) {
                const auto same =
                    std::ranges::find_if(ports_, [&](const auto& port) { return port->is_for(caster, address); });
                all.push_back({same == ports_.end() ? nullptr : same->get(), nullptr, caster, address});
            }
        }
        return all;
    }

    std::vector<std::unique_ptr<Port>> ports_;
};

}  // namespace service::caster
