// bench whep: N players of a stream by WebRTC; what they got and what it cost the server.

#include "load/rtc/commands.h"
#include "load/rtc/player.h"
#include "load/rtc/session_room.h"
#include "load/run.h"

namespace load::rtc {

namespace {

base::Result<int> run_whep(const WhepOptions& options) {
    load::Run run(options);
    SessionRoom room = TRY(SessionRoom::make(options.count));
    std::vector<std::unique_ptr<Player>> players;
    for (uint32_t i = 0; i < options.count; ++i) {
        const uint32_t number = options.streams ? i % options.streams : i;
        players.push_back(
            std::make_unique<Player>(load::number_url(options.url, number), options.nack, room.shared(run.ledger())));
    }
    TRY(run.begin());
    load::measure_packet_players(run, options, players);
    load::Report report;
    report.add("command", "whep");
    report.add("url", options.url);
    report.add_ledger(run.ledger(), options.count);
    run.add_window(report, "player");
    add_packet_players(report, players);
    report.add_times("first_frame_ms", run.ledger().first_frame_us);
    room.leave(players);
    return run.finish(report);
}

}  // namespace

int whep(const WhepOptions& options) {
    auto code = run_whep(options);
    return code ? *code : load::cannot_begin(code.error());
}

}  // namespace load::rtc
