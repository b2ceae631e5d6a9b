#pragma once
// The tools in the HTTP API (/api/v1/tools) and in the metrics. Command lines are in neither: they have the passwords
// of URLs.

#include "net/http/api_endpoint.h"
#include "protocol/prometheus/text.h"
#include "service/identity.h"
#include "service/tools/service.h"

namespace service::tools {

// Both must outlive the row.
net::ApiEndpoint api_row(const Service& service, const Identity& identity);
void write_metrics(const Service& service, prometheus::Text& text);

}  // namespace service::tools
