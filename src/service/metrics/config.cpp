#include "service/metrics/config.h"

#include "config/row_builder.h"

namespace service::metrics {
namespace {

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope scope{"exporter", kOfServer<ServerConfig>};
    using E = ServerConfig;
    rows.push_back(row(scope, "enabled", &E::enabled, none(), kRestart, "Metrics for Prometheus, at /metrics."));
    rows.push_back(row(scope, "listen", &E::listen, none(), kRestart,
                       "Addresses of the exporter. It serves nothing else, has the limits of http_api, and uses "
                       "its auth if that is enabled."));
    rows.push_back(row(scope, "label", &E::label, none(), kLive, "A label of srs_build_info.", "cn-beijing"));
    rows.push_back(row(scope, "tag", &E::tag, none(), kLive, "Another label of srs_build_info.", "cn-edge"));
    rows.push_back(row(scope, "stream_limit", &E::stream_limit, count(0, 100'000), kLive,
                       "Maximum number of streams with metrics of their own, 20 lines each; the number of other "
                       "streams is a metric."));
}

const config::ListenAddresses* listen(const config::Snapshot& snapshot) {
    const auto& exporter = snapshot.get<ServerConfig>();
    return exporter.enabled ? &exporter.listen : nullptr;
}

}  // namespace

config::Section section() {
    return {.service = "exporter",
            .add_rows = add_rows,
            .listeners = {{"exporter", "exporter/listen", "exporter", "exporter", config::Transport::kTcp, listen}}};
}

}  // namespace service::metrics
