// The rows of the metrics exporter.

#include "config/row_builder.h"

namespace config {

void add_exporter_rows(std::vector<Row>& rows) {
    const Scope scope{"exporter", [](const auto& root) -> decltype(auto) { return (root.snapshot->exporter); }};
    using E = Exporter;
    rows.push_back(row(scope, "enabled", &E::enabled, false, none(), kRestart, "Metrics for Prometheus, at /metrics."));
    rows.push_back(row(
        scope, "listen", &E::listen, {{"", 9972}}, none(), kRestart,
        "Addresses of the exporter, which serves nothing else. It has http_api's limits, and its auth where that is "
        "enabled."));
    rows.push_back(row(scope, "label", &E::label, "", none(), kLive, "A label of srs_build_info.", "cn-beijing"));
    rows.push_back(row(scope, "tag", &E::tag, "", none(), kLive, "Another one.", "cn-edge"));
    rows.push_back(row(scope, "stream_limit", &E::stream_limit, 200, count(0, 100'000), kLive,
                       "Streams with metrics of their own, 13 lines each; how many are left out is a metric."));
}

}  // namespace config
