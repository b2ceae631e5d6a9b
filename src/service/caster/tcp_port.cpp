#include "service/caster/tcp_port.h"

#include <utility>

#include "base/log.h"
#include "service/caster/service.h"

namespace service::caster {

using base::Result;

TcpPort::TcpPort(Service& service, const Caster& caster, config::ListenAddress address)
    : kind_(caster.kind()),
      address_(std::move(address)),
      output_(caster.output),
      acceptor_(service.sessions(), "FLV connection", "flv-accept",
                {.take = [this, &service](auto socket) { service.accept(*this, std::move(socket)); }}) {}

Result<std::unique_ptr<TcpPort>> TcpPort::open(Service& service, const Caster& caster,
                                               const config::ListenAddress& address) {
    std::unique_ptr<TcpPort> port(new TcpPort(service, caster, address));
    TRY(port->acceptor_.listen({address.host, address.port, address.ipv6_only}));
    base::log::trace("FLV by HTTP on {} for {}", address.text(), caster.output);
    return port;
}

bool TcpPort::is_for(const Caster& caster, const config::ListenAddress& address) const {
    return caster.kind() == kind_ && address == address_;
}

}  // namespace service::caster
