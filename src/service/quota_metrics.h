#pragma once
// Metrics of a quota (net::AddressQuota) that a service owns.

#include <string_view>

#include "net/access/address_quota.h"
#include "protocol/prometheus/text.h"

namespace service {

// A counter of the shares that were refused, with the limit as its label: of the address, or of all.
void write_refused(prometheus::Text& text, std::string_view name, std::string_view help,
                   const net::AddressQuota& quota);

}  // namespace service
