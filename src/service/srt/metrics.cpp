#include "service/srt/metrics.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "service/srt/service.h"

namespace service::srt {

using prometheus::Text;
using prometheus::Type;

namespace {

// Of those that receive, and of those that send.
struct LinkTotals {
    size_t sessions = 0, lossy = 0;
    double rtt_ms = 0, max_rtt_ms = 0;
    size_t measured = 0;
};
constexpr double kLossyPercent = 1;

// Servers that this one has called are among them.
void write_quality(const net::SessionTable& table, Text& text) {
    std::array<LinkTotals, 2> totals;
    for (size_t i = 0; i < table.size(); ++i) {
        const auto quality = table.at(i).srt_quality();
        if (!quality) continue;
        LinkTotals& of = totals[net::publishes(table.at(i).type()) ? 0 : 1];
        ++of.sessions;
        of.lossy += quality->lost_percent >= kLossyPercent;
        if (!quality->rtt_ms) continue;
        ++of.measured;
        of.rtt_ms += *quality->rtt_ms;
        of.max_rtt_ms = std::max<double>(of.max_rtt_ms, *quality->rtt_ms);
    }
    constexpr std::array<std::string_view, 2> kDirections = {"in", "out"};
    text.family("srs_srt_links", Type::kGauge, "Sessions by SRT and connections to other servers, by direction.");
    for (size_t i = 0; i < totals.size(); ++i)
        text.sample({{"direction", kDirections[i]}}, static_cast<double>(totals[i].sessions));
    text.family("srs_srt_lossy_links", Type::kGauge, "Of these, those that lost 1 % of the packets of 10 s, or more.");
    for (size_t i = 0; i < totals.size(); ++i)
        text.sample({{"direction", kDirections[i]}}, static_cast<double>(totals[i].lossy));
    text.family("srs_srt_rtt_seconds", Type::kGauge, "Their round-trip times: the mean and the largest.");
    for (size_t i = 0; i < totals.size(); ++i) {
        const LinkTotals& of = totals[i];
        const double mean = of.measured == 0 ? 0 : of.rtt_ms / static_cast<double>(of.measured);
        text.sample({{"direction", kDirections[i]}, {"of", "mean"}}, mean / 1'000);
        text.sample({{"direction", kDirections[i]}, {"of", "max"}}, of.max_rtt_ms / 1'000);
    }
}

}  // namespace

void write_metrics(const Service& service, Text& text) {
    const Stats& stats = service.stats();
    const auto value = [](uint64_t count) { return static_cast<double>(count); };
    text.single("srs_srt_sessions", Type::kGauge, "SRT sessions.", value(service.sessions()));
    std::array<uint64_t, IngestPull::kStates> pulls{};
    for (const auto& pull : service.pulls().list()) ++pulls[static_cast<size_t>(pull->state())];
    text.family("srs_srt_pulls", Type::kGauge, "Streams that are pulled by SRT (ingest), by the state of the pull.");
    for (size_t state = 0; state < pulls.size(); ++state)
        text.sample({{"state", IngestPull::state_name(static_cast<IngestPull::State>(state))}}, value(pulls[state]));
    write_quality(service.table(), text);
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
