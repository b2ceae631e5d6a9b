#pragma once
// TcpPort: a TCP port of a caster. What it accepts begins a session of the caster's kind, with the output that the port
// has at that time.

#include <sys/socket.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "config/snapshot.h"
#include "net/admission/acceptor.h"
#include "service/caster/config.h"

namespace service::caster {

class Service;

class TcpPort {
  public:
    static constexpr int kSocketType = SOCK_STREAM;
    static bool is_of(Kind kind) { return kind == Kind::kFlv || kind == Kind::kGb28181; }

    // kSystem: the address is in use.
    static base::Result<std::unique_ptr<TcpPort>> open(Service& service, const Caster& caster,
                                                       const config::ListenAddress& address);
    TcpPort(const TcpPort&) = delete;

    // Whether the block asks for this port.
    bool is_for(const Caster& caster, const config::ListenAddress& address) const;
    // For sessions that begin from now on.
    void update(const Caster& caster) {
        output_ = caster.output;
        media_connect_ms_ = caster.media_connect_timeout * int64_t{1'000};
    }
    // Yields.
    void stop_accepting() { acceptor_.stop(); }

    Kind kind() const { return kind_; }
    const std::string& output() const { return output_; }
    int64_t media_connect_ms() const { return media_connect_ms_; }
    uint16_t port() const { return acceptor_.port(); }

  private:
    TcpPort(Service& service, const Caster& caster, config::ListenAddress address);

    const Kind kind_;
    const config::ListenAddress address_;
    std::string output_;
    int64_t media_connect_ms_ = 0;
    net::Acceptor acceptor_;
};

}  // namespace service::caster
