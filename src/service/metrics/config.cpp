#include "service/metrics/config.h"

#include "config/row_builder.h"

namespace service::metrics {
namespace {

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope scope{"exporter",
                      [](const auto& root) -> decltype(auto) { return (root.snapshot->template get<ServerConfig>()); }};
    using E = ServerConfig;
    rows.push_back(row(scope, "enabled", &E::enabled, none(), kRestart, "Metrics for Prometheus, at /metrics."));
    rows.push_back(row(
        scope, "listen", &E::listen, none(), kRestart,
        "Addresses of the exporter, which serves nothing else. It has http_api's limits, and its auth where that is "
        "enabled."));
    rows.push_back(row(scope, "label", &E::label, none(), kLive, "A label of srs_build_info.", "cn-beijing"));
    rows.push_back(row(scope, "tag", &E::tag, none(), kLive, "Another one.", "cn-edge"));
    rows.push_back(row(scope, "stream_limit", &E::stream_limit, count(0, 100'000), kLive,
                       "Streams with metrics of their own, 13 lines each; how many are left out is a metric."));
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
