// bench srt-play: N players of a stream by SRT; what they got and what it cost the server.

#include "load/run.h"
#include "load/srt/commands.h"
#include "load/srt/player.h"

namespace load::srt {

namespace {

base::Result<int> run_play(const SrtPlayOptions& options) {
    load::Run run(options);
    std::vector<std::unique_ptr<Player>> players;
    for (uint32_t i = 0; i < options.count; ++i) {
        const PeerOptions peer{.url = number_url(options.url, options.streams ? i % options.streams : i),
                               .latency_ms = options.latency_ms,
                               .passphrase = options.passphrase};
        players.push_back(std::make_unique<Player>(peer, options.loss, run.ledger()));
    }
    TRY(run.begin());
    load::measure_packet_players(run, options, players);
    load::Report report;
    report.add("command", "srt-play");
    report.add("url", options.url);
    report.add_ledger(run.ledger(), options.count);
    run.add_window(report, "player");
    add_packet_players(report, players);
    uint64_t damaged = 0;
    for (const auto& player : players) damaged += player->damaged();
    report.add("messages_damaged", damaged);
    report.add_times("first_frame_ms", run.ledger().first_frame_us);
    for (auto& player : players) player->leave();
    return run.finish(report);
}

}  // namespace

int srt_play(const SrtPlayOptions& options) {
    auto code = run_play(options);
    return code ? *code : load::cannot_begin(code.error());
}

}  // namespace load::srt
