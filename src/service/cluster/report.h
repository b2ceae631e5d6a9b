#pragma once
// What a cluster's server reports: the metrics, and /api/v1/cluster.

#include "net/http/api_endpoint.h"
#include "protocol/prometheus/text.h"
#include "service/cluster/service.h"
#include "service/identity.h"

namespace service::cluster {

void write_metrics(const Service& service, prometheus::Text& text);
// The service must outlive the row.
net::ApiEndpoint api_row(const Service& service, const Identity& identity);

}  // namespace service::cluster
