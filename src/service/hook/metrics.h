#pragma once
// The metrics of hooks.

#include "protocol/prometheus/text.h"
#include "service/hook/stats.h"

namespace service::hook {

void write_metrics(const HookStats& stats, prometheus::Text& text);

}  // namespace service::hook
