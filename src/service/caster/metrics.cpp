#include "service/caster/metrics.h"

#include "service/caster/service.h"
#include "service/caster/stats.h"

namespace service::caster {

using prometheus::Text;
using prometheus::Type;

void write_metrics(Service& service, Text& text) {
    const CasterStats& stats = caster_stats();
    const auto number = [](uint64_t value) { return static_cast<double>(value); };
    text.single("srs_caster_publishers", Type::kGauge, "Encoders that publish by stream_caster.",
                number(stats.publishers));
    text.single("srs_caster_sender_changes_total", Type::kCounter,
                "Encoders that started again, and continued their own publication.", number(stats.sender_changes));
    runtime::UdpStats sum;
    for (const auto& port : service.udp_ports().all()) sum += port->stats();
    for (const auto& port : service.gb_udp_ports().all()) sum += port->stats();
    text.single("srs_caster_datagrams_total", Type::kCounter, "Datagrams that came to the ports of stream_caster.",
                number(sum.received));
    text.single("srs_caster_datagrams_dropped_total", Type::kCounter,
                "Datagrams that a full buffer of these ports did not take.", number(sum.receive_lost));
    text.family("srs_caster_datagrams_refused_total", Type::kCounter,
                "Datagrams that are no transport stream, or of no announced SSRC (unknown), from another sender than "
                "the publisher "
                "(other-sender), of a sender that was refused a moment ago (held-off).");
    text.sample({{"reason", "unknown"}}, number(stats.refused_unknown));
    text.sample({{"reason", "other-sender"}}, number(stats.refused_other));
    text.sample({{"reason", "held-off"}}, number(stats.refused_held_off));
    const GbChannels& channels = service.channels();
    text.family("srs_caster_gb28181_channels", Type::kGauge,
                "Announced streams of GB28181, with a camera and without.");
    text.sample({{"state", "waiting"}}, number(channels.waiting()));
    text.sample({{"state", "used"}}, number(channels.size() - channels.waiting()));
    text.single("srs_caster_gb28181_connections_refused_total", Type::kCounter,
                "Connections of GB28181 whose SSRC was not announced, or has a sender.", number(stats.gb_refused));
}

}  // namespace service::caster
