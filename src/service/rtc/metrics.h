#pragma once
// The metrics of WebRTC: a fixed number of lines, whatever the number of sessions.

#include "net/admission/address_quota.h"
#include "protocol/prometheus/text.h"

namespace service::rtc {

// offers: the quota of offers that are not connected.
void write_metrics(const net::AddressQuota& offers, prometheus::Text& text);

}  // namespace service::rtc
