#include "service/caster/tcp_port.h"

#include <utility>

#include "base/log.h"
#include "service/caster/service.h"

namespace service::caster {

using base::Result;

TcpPort::TcpPort(Service& service, const Caster& caster, config::ListenAddress address)
    : kind_(caster.kind()),
      address_(std::move(address)),
      acceptor_(service.sessions(), kind_ == Kind::kFlv ? "FLV connection" : "GB28181 connection",
                kind_ == Kind::kFlv ? "flv-accept" : "gb28181-accept",
                {.take = [this, &service](auto socket) { service.accept(*this, std::move(socket)); }}) {
    update(caster);
}

Result<std::unique_ptr<TcpPort>> TcpPort::open(Service& service, const Caster& caster,
                                               const config::ListenAddress& address) {
    std::unique_ptr<TcpPort> port(new TcpPort(service, caster, address));
    TRY(port->acceptor_.listen({address.host, address.port, address.ipv6_only}));
    base::log::trace("{} on {} for {}", port->kind_ == Kind::kFlv ? "FLV by HTTP" : "GB28181 by TCP", address.text(),
                     caster.output);
    return port;
}

bool TcpPort::is_for(const Caster& caster, const config::ListenAddress& address) const {
    return caster.kind() == kind_ && address == address_;
}

}  // namespace service::caster
