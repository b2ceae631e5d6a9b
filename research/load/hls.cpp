// bench hls: N players of a live HLS stream, each on a connection that it keeps.

#include "load/commands.h"
#include "load/hls_player.h"
#include "load/players.h"

namespace load {

namespace {

constexpr int64_t kTickMs = 5;

// A coroutine's body: has each player ask for its playlist when it is time.
void keep_time(const Players<HlsPlayer>& players) {
    while (runtime::sleep_ms(kTickMs)) {
        const int64_t now_us = base::monotonic_us();
        for (const auto& player : players) player->on_time(now_us);
    }
}

// False: a player missed segments.
bool add_players(Report& report, const Players<HlsPlayer>& players, const HlsTotals& totals) {
    uint64_t missed = 0, went_back = 0, discontinuities = 0;
    for (const auto& player : players) {
        missed += player->timeline().missed();
        went_back += player->timeline().went_back();
        discontinuities += player->timeline().discontinuities();
    }
    report.add("playlists", totals.playlists);
    report.add("segments", totals.segments);
    report.add("segments_late", totals.late);
    report.add("segments_missed", missed);
    report.add("playlists_that_went_back", went_back);
    report.add("discontinuities", discontinuities);
    report.add("stalls", totals.stalls);
    report.add_times("stall_ms", totals.stall_us);
    report.add_times("playlist_ms", totals.playlist_us);
    report.add_times("segment_ms", totals.segment_us);
    return missed == 0 && went_back == 0;
}

base::Result<int> run_hls(const HlsOptions& options) {
    Run run(options);
    HlsTotals totals;
    HlsPlaylistReader reader;
    if (TRY(parse_target(number_url(options.url, 0))).scheme != Scheme::kHttp)
        return base::fail(base::Code::kConfig, "hls is for http://");
    const auto players = TRY(make_players<HlsPlayer>(options, [&](Target target) {
        return std::make_unique<HlsPlayer>(std::move(target), run.ledger(), totals, reader);
    }));
    TRY(run.begin());
    runtime::Task clock = runtime::spawn("clock", [&players] { keep_time(players); });
    measure(run, options, players, [&totals] { totals = {}; });
    clock.cancel_and_join();
    Report report = report_of(run, options, "hls");
    const bool whole = add_players(report, players, totals);
    const int code = run.finish(report);
    return code == 0 && !whole ? 1 : code;
}

}  // namespace

int hls(const HlsOptions& options) {
    auto code = run_hls(options);
    return code ? *code : cannot_begin(code.error());
}

}  // namespace load
