#pragma once
// The casters' metrics, for Prometheus.

#include "protocol/prometheus/text.h"

namespace service::caster {

class Service;

void write_metrics(Service& service, prometheus::Text& text);

}  // namespace service::caster
