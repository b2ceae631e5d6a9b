#pragma once
// GbUdpPort: a UDP port to which cameras of GB28181 send RTP. A camera is known by its SSRC, which was announced
// (gb_channels.h): nothing is kept of a datagram of another one. The first address that sends
// it has the SSRC until it is silent; after a moment of silence another port of the same address continues it.

#include <sys/socket.h>

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "runtime/socket/datagram_port.h"
#include "service/caster/config.h"

namespace service::caster {

class Service;

class GbUdpPort final : private runtime::DatagramUser {
  public:
    static constexpr int kSocketType = SOCK_DGRAM;
    static bool is_of(Kind kind) { return kind == Kind::kGb28181; }

    // kSystem: the address is in use.
    static base::Result<std::unique_ptr<GbUdpPort>> open(Service& service, const Caster& caster,
                                                         const config::ListenAddress& address);
    GbUdpPort(const GbUdpPort&) = delete;

    // Whether the block asks for this port.
    bool is_for(const Caster& caster, const config::ListenAddress& address) const;
    void update(const Caster&) {}
    // No new cameras.
    void stop_accepting() { accepts_ = false; }
    runtime::UdpStats stats() { return port_->stats(); }  // makes a system call

  private:
    GbUdpPort(Service& service, config::ListenAddress address) : service_(service), address_(std::move(address)) {}
    void on_datagram(const runtime::UdpPacket& packet, runtime::DatagramPort& port, int64_t now_us) override;

    Service& service_;
    const config::ListenAddress address_;
    bool accepts_ = true;
    std::unique_ptr<runtime::DatagramPort> port_;
};

}  // namespace service::caster
