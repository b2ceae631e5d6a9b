#pragma once
// The metrics of WebRTC: a fixed number of lines, whatever the number of sessions.

#include "protocol/prometheus/text.h"

namespace service::rtc {

void write_metrics(prometheus::Text& text);

}  // namespace service::rtc
