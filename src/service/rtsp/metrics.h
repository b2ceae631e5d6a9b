#pragma once
// The metrics of RTSP: a fixed number of lines, whatever the number of sessions.

#include "protocol/prometheus/text.h"

namespace service::rtsp {

class Service;

void write_metrics(Service& service, prometheus::Text& text);

}  // namespace service::rtsp
