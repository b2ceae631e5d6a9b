#include "service/quota_metrics.h"

namespace service {

void write_refused(prometheus::Text& text, std::string_view name, std::string_view help,
                   const net::AddressQuota& quota) {
    text.family(name, prometheus::Type::kCounter, help);
    text.sample({{"limit", "address"}}, static_cast<double>(quota.counters().refused_address));
    text.sample({{"limit", "all"}}, static_cast<double>(quota.counters().refused_all));
}

}  // namespace service
