#pragma once
// The metrics of net::RtcStats: a fixed number of lines, whatever the number of sessions.

#include "service/metrics/text.h"

namespace service::metrics {

void rtc_figures(Text& text);

}  // namespace service::metrics
