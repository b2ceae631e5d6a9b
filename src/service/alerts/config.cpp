#include "service/alerts/config.h"

#include "config/row_builder.h"

namespace service::alerts {
namespace {

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope scope{"alerts", kOfServer<ServerConfig>};
    using A = ServerConfig;
    rows.push_back(row(scope, "enabled", &A::enabled, none(), kLive,
                       "Looks every five seconds for what is wrong at the server and its streams: for /api/v1/alerts, "
                       "the log and http_hooks { on_alert }, see doc/operations.md."));
    rows.push_back(row(scope, "publisher_gone", &A::publisher_gone, seconds(0, 86'400), kLive,
                       "An alert if a stream that was published is not published again within this time; 0: none."));
    rows.push_back(row(scope, "keyframe_interval", &A::keyframe_interval, seconds(0, 3'600), kLive,
                       "An alert if the keyframes of a stream are further apart for a minute; 0: none."));
    rows.push_back(row(scope, "refused_logins", &A::refused_logins, count(0, 1'000'000), kLive,
                       "An alert if more sessions are refused for their signature or password in five minutes; 0: "
                       "none."));
    rows.push_back(row(scope, "loop_stalls", &A::loop_stalls, count(0, 100), kLive,
                       "An alert if the event loop stalls (stall_warn) for more than this share of five minutes; 0: "
                       "none."));
    rows.push_back(row(scope, "certificate", &A::certificate, count(0, 3'650), kLive,
                       "An alert if a certificate ends in less than so many days; 0: none."));
}

}  // namespace

config::Section section() {
    return {.service = "alerts",
            .add_rows = add_rows,
            .blocks = {{.path = "alerts", .doc = "What operators are told about, see doc/operations.md."}}};
}

}  // namespace service::alerts
