#include "service/caster/gb_udp_port.h"

#include "base/log.h"
#include "protocol/rtp/packet.h"
#include "service/caster/gb_session.h"
#include "service/caster/service.h"
#include "service/caster/stats.h"

namespace service::caster {

using base::Result;

namespace {

constexpr int kGbReceiveBytes = 4 * 1024 * 1024;
// A camera that is silent for this long may have started again.
constexpr int64_t kGbRestartUs = 300'000;

}  // namespace

Result<std::unique_ptr<GbUdpPort>> GbUdpPort::open(Service& service, const Caster&,
                                                   const config::ListenAddress& address) {
    std::unique_ptr<GbUdpPort> port(new GbUdpPort(service, address));
    port->port_ = TRY(runtime::DatagramPort::open({address.host, address.port, address.ipv6_only},
                                                  {.receive_buffer_bytes = kGbReceiveBytes, .for_clients = true},
                                                  "GB28181", *port));
    base::log::trace("GB28181 by UDP on {}", address.text());
    return port;
}

bool GbUdpPort::is_for(const Caster& caster, const config::ListenAddress& address) const {
    return caster.kind() == Kind::kGb28181 && address == address_;
}

void GbUdpPort::on_datagram(const runtime::UdpPacket& datagram, runtime::DatagramPort& port, int64_t now_us) {
    if (GbInput::is_rtcp(datagram.bytes)) return;
    const auto packet = rtp::PacketView::parse(datagram.bytes);
    GbChannel* channel = packet ? service_.channels().find(packet->ssrc()) : nullptr;
    if (!channel) {
        if (!port.pass_on(datagram.bytes, datagram.from, datagram.destination)) ++caster_stats().refused_unknown;
        return;
    }
    GbSession* session = channel->session;
    if (session) {
        const bool may_continue =
            session->is_udp() && datagram.from.ip == session->peer().ip && session->silent_us(now_us) >= kGbRestartUs;
        if (!session->is_udp() || (datagram.from != session->peer() && !may_continue))
            return void(++caster_stats().refused_other);
        if (datagram.from != session->peer()) session->continue_from(datagram.from);
        return session->on_packet(*packet, now_us);
    }
    if (!accepts_) return void(++caster_stats().refused_held_off);

    net::SessionTable& sessions = service_.sessions();
    if (auto admitted = sessions.admission().admit_without_descriptor(datagram.from.ip.text()); !admitted) {
        sessions.log_refusal("GB28181 publisher", datagram.from.ip.text(), admitted.error());
        return void(++caster_stats().refused_held_off);
    }
    service_.add(std::make_unique<GbSession>(service_, *channel, datagram.from));
    // It may not have started.
    if (channel = service_.channels().find(packet->ssrc()); channel && channel->session)
        channel->session->on_packet(*packet, now_us);
}

}  // namespace service::caster
