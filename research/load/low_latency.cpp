// bench low-latency-hls: N players of a live stream by low-latency HLS, each on a connection that it keeps.

#include "load/commands.h"
#include "load/low_latency_player.h"
#include "load/players.h"

namespace load {

namespace {

void add_players(Report& report, const LowLatencyTotals& totals) {
    report.add("playlists", totals.playlists);
    report.add("parts", totals.parts);
    report.add("parts_refused", totals.refused);
    report.add("parts_missed", totals.missed);
    report.add_times("playlist_ms", totals.playlist_us);
    report.add_times("part_ms", totals.part_us);
    report.add_times("fetch_ms", totals.fetch_us);
}

base::Result<int> run_low_latency(const LowLatencyHlsOptions& options) {
    constexpr std::string_view kProtocol = "h2";
    Run run(options);
    LowLatencyTotals totals;
    LowLatencyPlaylists playlists;
    const auto tls = TRY(runtime::tls_client_context(false, {}, std::span(&kProtocol, 1)));
    const Scheme scheme = TRY(parse_target(number_url(options.url, 0))).scheme;
    if (scheme != Scheme::kHttp && scheme != Scheme::kHttps)
        return base::fail(base::Code::kConfig, "low-latency-hls is for http:// and https://");
    const auto players = TRY(make_players<LowLatencyPlayer>(options, [&](Target target) {
        return std::make_unique<LowLatencyPlayer>(std::move(target), tls, run.ledger(), totals, playlists);
    }));
    TRY(run.begin());
    measure(run, options, players, [&totals] { totals = {}; });
    Report report = report_of(run, options, "low-latency-hls");
    add_players(report, totals);
    const int code = run.finish(report);
    return code == 0 && (totals.refused > 0 || totals.missed > 0) ? 1 : code;
}

}  // namespace

int low_latency_hls(const LowLatencyHlsOptions& options) {
    auto code = run_low_latency(options);
    return code ? *code : cannot_begin(code.error());
}

}  // namespace load
