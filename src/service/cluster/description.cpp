#include "service/description.h"

#include "service/cluster/config.h"
#include "service/cluster/report.h"
#include "service/cluster/service.h"

namespace service::cluster {
namespace {

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto service = std::make_shared<Service>(parts, snapshot);
    parts.offers.locator = service.get();
    parts.offers.metrics.push_back(
        [service = service.get()](prometheus::Text& text) { write_metrics(*service, text); });
    parts.api_rows.add(api_row(*service, parts.identity));
    return module_of("cluster", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{
        .name = "cluster", .section = section(), .features = {"cluster"}, .make = make};
    return kDescription;
}

}  // namespace service::cluster
