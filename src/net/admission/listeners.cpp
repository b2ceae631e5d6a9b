#include "net/admission/listeners.h"

#include <utility>

#include "base/log.h"

namespace net {

base::Result<void> Listeners::open(const config::ListenAddresses& addresses, std::string_view protocol,
                                   const TlsPair* tls) {
    for (const config::ListenAddress& address : addresses) {
        Acceptor::Handlers handlers;
        handlers.take = [this, tls](std::unique_ptr<runtime::ByteStream> socket) {
            take_(std::move(socket), TlsPair::context_of(tls));
        };
        Acceptor& acceptor =
            *acceptors_.emplace_back(std::make_unique<Acceptor>(sessions_, what_, name_, std::move(handlers)));
        TRY(acceptor.listen({address.host, address.port, address.ipv6_only, address.reuse_port}));
        base::log::trace("{} listens on {}", protocol, address.text());
    }
    return {};
}

void Listeners::stop() {
    for (auto& acceptor : acceptors_) acceptor->stop();
    acceptors_.clear();
}

}  // namespace net
