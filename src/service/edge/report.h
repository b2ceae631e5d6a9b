#pragma once
// What edges report: the metrics, and the API's list of pulls, pushes and origins (/api/v1/edges).

#include "net/http/api_endpoint.h"
#include "protocol/prometheus/text.h"
#include "service/edge/service.h"
#include "service/identity.h"

namespace service::edge {

void write_metrics(const Service& service, prometheus::Text& text);
// The service must outlive the row.
net::ApiEndpoint api_row(const Service& service, const Identity& identity);

}  // namespace service::edge
