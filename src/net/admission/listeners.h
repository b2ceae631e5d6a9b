#pragma once
// Listeners: the TCP listeners of a service, plain and with TLS.

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/snapshot.h"
#include "net/admission/acceptor.h"
#include "net/admission/tls_pair.h"

namespace net {

class Listeners {
  public:
    // tls: null for a plain connection; its handshake is the taker's.
    using Take = std::function<void(std::unique_ptr<runtime::ByteStream>, TlsPair::Context tls)>;

    // what: for the log, "RTMP connection"; name: of the coroutines. Both must never be freed; the table must outlive
    // the listeners. See Acceptor::Handlers for take.
    Listeners(SessionTable& sessions, const char* what, const char* name, Take take)
        : sessions_(sessions), what_(what), name_(name), take_(std::move(take)) {}

    // protocol: as the log shows it, "RTMPS". tls: null for plain ones; must outlive the listeners.
    base::Result<void> open(const config::ListenAddresses& addresses, std::string_view protocol, const TlsPair* tls);
    // The port of the listener of that index, in the order of opening.
    uint16_t port(size_t index) const { return acceptors_.at(index)->port(); }
    // No more connections are accepted. Yields.
    void stop();

  private:
    SessionTable& sessions_;
    const char* what_;
    const char* name_;
    Take take_;
    std::vector<std::unique_ptr<Acceptor>> acceptors_;
};

}  // namespace net
