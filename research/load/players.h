#pragma once
// What the commands with players of HLS share: a player for each connection, and what is done with all of them.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "load/commands.h"
#include "load/run.h"
#include "load/target.h"

namespace load {

template <class Player>
using Players = std::vector<std::unique_ptr<Player>>;

// One for each connection, made for the target that its number gives.
template <class Player>
base::Result<Players<Player>> make_players(const HlsOptions& options,
                                           const std::function<std::unique_ptr<Player>(Target)>& make) {
    Players<Player> players;
    for (uint32_t i = 0; i < options.count; ++i)
        players.push_back(make(TRY(parse_target(number_url(options.url, options.streams ? i % options.streams : i)))));
    return players;
}

// Opens them by the ramp, lets them settle, and measures them. begins: called where the window begins.
template <class Player>
void measure(Run& run, const HlsOptions& options, const Players<Player>& players, const std::function<void()>& begins) {
    run.open_each(options.count, [&players](uint32_t i, runtime::Deadline deadline) {
        (void)players[i]->open(deadline);  // the ledger has the error
    });
    run.sleep(options.settle_ms);
    begins();
    run.begin_window();
    run.sleep(options.seconds * 1000);
    run.end_window();
}

// What is reported of players of any kind.
inline Report report_of(Run& run, const HlsOptions& options, const std::string& command) {
    Report report;
    report.add("command", command);
    report.add("url", options.url);
    report.add_ledger(run.ledger(), options.count);
    run.add_window(report, "player");
    return report;
}

}  // namespace load
