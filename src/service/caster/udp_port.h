#pragma once
// UdpPort: a UDP port to which encoders send transport streams. Datagrams have no session: the first address that sends
// a stream is the publisher, until nothing comes from it; what others send meanwhile is dropped and counted. A sender
// counts once the tables of its stream have come whole and with their checksums, so that stray datagrams begin nothing;
// until then what it sends is kept, within limits. A sender that starts again has another port: when the publisher is
// silent for a moment, one of the same IP address takes its place, and the publication goes on.

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"
#include "runtime/socket/datagram_port.h"
#include "service/caster/config.h"

namespace service::caster {

class Encoder;
class Service;

class UdpPort final : private runtime::DatagramUser {
  public:
    static constexpr int kSocketType = SOCK_DGRAM;
    static bool is_of(Kind kind) { return kind == Kind::kMpegtsOverUdp; }

    // kSystem: the address is in use, or the group cannot be joined.
    static base::Result<std::unique_ptr<UdpPort>> open(Service& service, const Caster& caster,
                                                       const config::ListenAddress& address);
    // Its encoder ends. Yields.
    ~UdpPort();
    UdpPort(const UdpPort&) = delete;

    // Whether the block asks for this port.
    bool is_for(const Caster& caster, const config::ListenAddress& address) const;
    // Another output ends the publication.
    void update(const Caster& caster);
    // No new senders.
    void stop_accepting() { accepts_ = false; }
    // Another process receives what its sender sends.
    void give_over();

    runtime::UdpStats stats() { return port_->stats(); }  // makes a system call
    uint16_t port() const { return port_->port(); }

    // Of its encoder: it is destroyed, or was not admitted.
    void encoder_left(Encoder& encoder);
    void encoder_refused();

  private:
    class Probe;
    UdpPort(Service& service, const Caster& caster, config::ListenAddress address);

    void on_datagram(const runtime::UdpPacket& packet, runtime::DatagramPort& port, int64_t now_us) override;
    bool may_begin(const base::Endpoint& from, int64_t now_us) const;
    void probe(const runtime::UdpPacket& packet, int64_t now_us);
    Probe& probe_of(const base::Endpoint& from, int64_t now_us);
    void begin(Probe& probe, int64_t now_us);

    Service& service_;
    const config::ListenAddress address_;
    const std::string interface_, source_text_;
    std::optional<base::IpAddress> source_;  // nothing: any
    std::string output_;
    bool accepts_ = true;
    int64_t held_off_until_us_ = 0;
    Encoder* encoder_ = nullptr;
    std::vector<std::unique_ptr<Probe>> probes_;  // the oldest first
    std::unique_ptr<runtime::DatagramPort> port_;
};

}  // namespace service::caster
