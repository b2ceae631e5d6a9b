#include "service/srt/metrics.h"

#include "service/srt/service.h"

namespace service::srt {

using prometheus::Text;
using prometheus::Type;

void write_metrics(const Service& service, Text& text) {
    const Stats& stats = service.stats();
    const auto value = [](uint64_t count) { return static_cast<double>(count); };
    text.single("srs_srt_sessions", Type::kGauge, "SRT sessions.", value(service.sessions()));
    text.single("srs_srt_handshakes", Type::kGauge, "SRT callers that are being admitted.", value(service.pending()));
    text.family("srs_srt_handshakes_total", Type::kCounter,
                "Handshakes of SRT: inductions answered and beyond the limit of a second, conclusions without a valid "
                "cookie, admitted and refused "
                "callers.");
    text.sample({{"result", "induction"}}, value(stats.inductions));
    text.sample({{"result", "induction-limit"}}, value(stats.unanswered));
    text.sample({{"result", "bad-cookie"}}, value(stats.bad_cookies));
    text.sample({{"result", "admitted"}}, value(stats.admitted));
    text.sample({{"result", "refused"}}, value(stats.refused));
    text.single("srs_srt_datagrams_total", Type::kCounter, "Datagrams received at the SRT ports.",
                value(stats.datagrams));
    text.single("srs_srt_datagrams_unknown_total", Type::kCounter, "Of these: of no session.", value(stats.unknown));
    text.family("srs_srt_publisher_packets_total", Type::kCounter,
                "Packets of SRT publishers: received; missing when a later one came; of these recovered and given up.");
    text.sample({{"result", "received"}}, value(stats.received));
    text.sample({{"result", "lost"}}, value(stats.lost));
    text.sample({{"result", "recovered"}}, value(stats.recovered));
    text.sample({{"result", "skipped"}}, value(stats.skipped));
    text.family("srs_srt_player_packets_total", Type::kCounter,
                "Packets to SRT players: sent; requested again; retransmitted; too late to be sent.");
    text.sample({{"result", "sent"}}, value(stats.sent));
    text.sample({{"result", "requested"}}, value(stats.requested));
    text.sample({{"result", "retransmitted"}}, value(stats.retransmitted));
    text.sample({{"result", "dropped"}}, value(stats.dropped));
}

}  // namespace service::srt
