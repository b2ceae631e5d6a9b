#include "service/description.h"

#include "service/metrics/config.h"
#include "service/metrics/service.h"

namespace service::metrics {
namespace {

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    return module_of("exporter", std::make_shared<Service>(snapshot, parts.sessions, parts.registry, parts.operations,
                                                           parts.offers, parts.identity, parts.api_rows));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{
        .name = "exporter", .section = section(), .features = {"exporter"}, .make = make};
    return kDescription;
}

}  // namespace service::metrics
