#pragma once
// PortList: the open ports of one kind, and how a configuration changes them: those that it still has stay open.
//
// Port: open(service, caster, address); is_for(caster, address): whether it is the port that the block asks for;
// update(caster): what else the block says; stop_accepting(). Closing one yields.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/loop/coroutine.h"
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
    };

    // Opens those that are missing. use: whether a block has ports of this kind.
    template <class Service, class Use>
    base::Result<std::vector<Wanted>> wanted(Service& service, const Casters& casters, Use&& use) const {
        std::vector<Wanted> all;
        for (const Caster& caster : casters.all) {
            if (!use(caster)) continue;
            for (const config::ListenAddress& address : caster.listen) {
                const auto same =
                    std::ranges::find_if(ports_, [&](const auto& port) { return port->is_for(caster, address); });
                Wanted& port = all.emplace_back();
                port.caster = caster;
                if (same != ports_.end())
                    port.present = same->get();
                else
                    port.opened = TRY(Port::open(service, caster, address), "stream_caster.listen");
            }
        }
        return all;
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
    std::vector<std::unique_ptr<Port>> ports_;
};

}  // namespace service::caster
