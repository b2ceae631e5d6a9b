#include "service/caster/encoder.h"

#include <utility>

#include "base/log.h"
#include "convert/ts/ts_reader.h"
#include "runtime/loop/clock.h"
#include "service/caster/service.h"
#include "service/caster/stats.h"
#include "service/caster/udp_port.h"

namespace service::caster {

using base::CloseReason;
using base::Result;

net::SessionType udp_publish_type() {
    static const net::SessionType kType = net::SessionType::add("udp-publish", true);
    return kType;
}

Encoder::Encoder(Service& service, UdpPort& port, std::string output, const base::Endpoint& peer)
    : TsSession(service, peer.ip.text()),
      port_(&port),
      output_url_(std::move(output)),
      peer_(peer),
      heard_us_(runtime::now_us()) {}

Encoder::~Encoder() {
    if (port_) port_->encoder_left(*this);
}

bool Encoder::start() {
    task_ = runtime::spawn("udp-publisher", [this] { run(); });
    return static_cast<bool>(task_);
}

// The top function of its coroutine.
void Encoder::run() {
    runtime::set_context_id(id());
    const auto served = serve();
    if (!publisher() && port_) port_->encoder_refused();
    end_with(served);
    service().remove(*this);
}

Result<void> Encoder::serve() {
    output_ = TRY(parse_output(output_url_));
    if (!TRY(begin(udp_publish_type(), "UDP publisher", std::make_unique<convert::TsReader>(), nullptr))) return {};
    base::log::trace("UDP publish: {}, MPEG-TS{}, from {}{}", stream_text(), input_.uses_rtp() ? " in RTP" : "",
                     peer_.text(), publisher()->waits() ? ", as a standby" : "");
    while (!is_ending()) {
        if (auto slept = runtime::sleep_ms(kTickMs); !slept && !is_ending())
            return std::unexpected(std::move(slept).error());
        if (is_ending()) break;
        const int64_t now_us = runtime::now_us();
        input_.on_tick(now_us, *this);
        check_publisher(now_us);
    }
    return {};
}

void Encoder::on_datagram(std::span<const uint8_t> datagram, int64_t now_us) {
    runtime::ContextScope scope(id());
    heard_us_ = now_us;
    if (!is_ending()) input_.push(datagram, now_us, *this);
    if (auto counted = count_bytes(datagram.size()); !counted && !is_ending())
        close(counted.error().text(), CloseReason::kFlood);
}

void Encoder::continue_from(const base::Endpoint& peer) {
    base::log::trace("UDP publish: {}, from {} instead of {}", stream_text(), peer.text(), peer_.text());
    peer_ = peer;
    input_ = CellInput();
    skip_gap();
    ++caster_stats().sender_changes;
}

bool Encoder::peer_alive() const { return silent_us(runtime::now_us()) < kAliveUs; }

}  // namespace service::caster
