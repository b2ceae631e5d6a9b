#include "service/bandwidth/config.h"

#include "config/row_builder.h"

namespace service::bandwidth {
namespace {

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope scope{"bandwidth_check", kOfServer<ServerConfig>};
    using C = ServerConfig;
    rows.push_back(row(scope, "enabled", &C::enabled, none(), kLive,
                       "Visitors may measure their connection to this server at /players/check.html."));
    rows.push_back(row(scope, "max_kbps", &C::max_kbps, count(100, 10'000'000), kLive,
                       "What all checks together may take of the server's connection, in each direction."));
    rows.push_back(row(scope, "in_all", &C::in_all, count(1, 64), kLive, "Checks at once."));
    rows.push_back(row(scope, "of_address", &C::of_address, count(1, 64), kLive, "Checks of one address at once."));
    rows.push_back(
        row(scope, "per_minute", &C::per_minute, count(1, 1000), kLive, "New checks of one address in a minute."));
    rows.push_back(row(scope, "duration", &C::duration, seconds(5, 300), kLive,
                       "A check ends after this time. The page needs 30 s."));
    rows.push_back(row(scope, "max_size", &C::max_size, megabytes(1, 10'000), kLive,
                       "What a check may transfer in each direction."));
}

}  // namespace

config::Section section() {
    return {.service = "bandwidth",
            .add_rows = add_rows,
            .blocks = {{.path = "bandwidth_check",
                        .doc = "Visitors measure their connection to this server, see doc/players.md."}}};
}

}  // namespace service::bandwidth
