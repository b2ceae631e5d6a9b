#pragma once
// The metrics of SRT.

#include "protocol/prometheus/text.h"

namespace service::srt {

class Service;

void write_metrics(const Service& service, prometheus::Text& text);

}  // namespace service::srt
