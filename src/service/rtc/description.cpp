#include "service/description.h"

#include "service/rtc/config.h"
#include "service/rtc/metrics.h"
#include "service/rtc/service.h"
#include "service/rtc/urls.h"

namespace service::rtc {
namespace {

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto service = std::make_shared<Service>(snapshot, parts.sessions, parts.registry, parts.gate, parts.router,
                                             parts.api_rows, parts.offers, parts.identity);
    parts.offers.metrics.push_back(
        [service = service.get()](prometheus::Text& text) { write_metrics(service->offer_quota(), text); });
    return module_of("rtc", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{
        .name = "rtc", .section = section(), .features = {"rtc"}, .urls = url_part, .make = make};
    return kDescription;
}

}  // namespace service::rtc
