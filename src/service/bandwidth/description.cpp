#include "service/description.h"

#include "service/bandwidth/config.h"
#include "service/bandwidth/service.h"

namespace service::bandwidth {
namespace {

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    auto service = std::make_shared<Service>(snapshot, parts.identity);
    for (net::ApiEndpoint& row : service->rows()) parts.api_rows.add(std::move(row));
    for (net::HttpRoute& route : service->routes()) parts.router.add(std::move(route));
    // Users of the offer may outlive the service.
    parts.offers.metrics.push_back([service](prometheus::Text& text) { service->write_metrics(text); });
    return module_of("bandwidth", service);
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "bandwidth", .section = section(), .make = make};
    return kDescription;
}

}  // namespace service::bandwidth
