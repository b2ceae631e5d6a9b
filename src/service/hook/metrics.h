#pragma once
// The metrics of hooks.

#include "protocol/prometheus/text.h"
#include "service/hook/service.h"

namespace service::hook {

void write_metrics(const Service& service, prometheus::Text& text);

}  // namespace service::hook
